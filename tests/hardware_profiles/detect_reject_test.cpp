#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware_profiles/detected_cluster.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/hardware_profiles/machine_texts.hpp"

/// Is each text that does not describe a machine refused, with its line and what to paste?
namespace paceline::hardware_profiles {
namespace {

using test::gpu_csv;
using test::texts_of;
using testing::HasSubstr;

std::string refusal(const std::string& gpus, const std::string& topology = "",
                    const std::string& peers = "",
                    const std::map<std::string, std::string>& cards = {}) {
  return test::message_of<core::ConfigError>(
      [&] { return detected_gpu_cluster(texts_of(gpus, topology, peers), cards, ""); });
}

const test::GpuOfCsv t4{"Tesla T4", 15360, 3, 3, 16, 16};
constexpr auto header = "\tGPU0\tGPU1\tCPU Affinity\n";

TEST(RejectDetected, a_card_without_a_file) {
  EXPECT_EQ(refusal(gpu_csv({{"NVIDIA GeForce RTX 3091", 24576, 4, 4, 16, 16}})),
            "gpus.csv: no GPU is called \"NVIDIA GeForce RTX 3091\"; did you mean "
            "\"nvidia_geforce_rtx_3090\"? (`paceline list gpus` prints all); this one has 24.0 GiB "
            "(say which with --card 'NVIDIA GeForce RTX 3091=ID'; a card without a file: copy the "
            "nearest to ~/.local/share/paceline/gpus and edit it)");
}

TEST(RejectDetected, a_name_of_several_cards_gives_the_candidates_and_the_way_out) {
  const std::string text = refusal(gpu_csv({{"RTX 6000", 49140, 4, 4, 16, 16}}));
  EXPECT_THAT(text, HasSubstr("the name \"RTX 6000\" fits several cards: rtx_a6000 (47.9883 GiB, "
                              "pcie, ampere), rtx_6000_ada (47.9883 GiB, pcie, ada); they differ "
                              "in architecture (name one of them); this one has 48.0 GiB"));
  EXPECT_THAT(text, HasSubstr("--card 'RTX 6000=ID'"));
}

TEST(RejectDetected, a_card_option_that_names_no_gpu_here) {
  EXPECT_EQ(refusal(gpu_csv({t4}), "", "", {{"T4", "t4"}}),
            "gpus.csv: --card names \"T4\", which no GPU here is called (names: Tesla T4)");
}

TEST(RejectDetected, answers_of_nvidia_smi_that_are_not_its_table) {
  EXPECT_THAT(refusal(""),
              HasSubstr("gpus.csv: has no header line with name (give the whole output "
                        "of `nvidia-smi --query-gpu=index,name,memory.total,"));
  EXPECT_THAT(refusal("name, uuid\nTesla T4, GPU-1\n"),
              HasSubstr("gpus.csv: line 1: has no column memory.total"));
  EXPECT_THAT(refusal("name, memory.total [MiB]\nTesla T4\n"),
              HasSubstr("gpus.csv: line 2: has 1 columns, but the header has 2"));
  EXPECT_THAT(refusal("name, memory.total\nTesla T4, 15 GB\n"),
              HasSubstr("gpus.csv: line 2: got memory \"15 GB\" (must be in MiB)"));
  EXPECT_THAT(refusal("name, memory.total [MiB]\n"), HasSubstr("gpus.csv: lists no GPU"));
  EXPECT_THAT(refusal(gpu_csv({{"Tesla T4", 15360, 9, 9, 16, 16}})),
              HasSubstr("GPU 0 has PCI Express 9 with 16 lanes (must be 1 to 6, 1 to 32)"));
}

TEST(RejectDetected, several_cards_without_a_topology) {
  EXPECT_EQ(refusal(gpu_csv({t4, t4})),
            "gpus.csv: lists 2 GPUs, and nothing says how they are joined (give the output of "
            "`nvidia-smi topo -m` with --from-topo)");
}

TEST(RejectDetected, a_topology_of_another_machine) {
  EXPECT_EQ(refusal(gpu_csv({t4, t4, t4}),
                    std::string(header) + "GPU0\t X \tPHB\t0-7\nGPU1\tPHB\t X \t0-7\n"),
            "topo.txt: has 2 GPUs, but gpus.csv lists 3 (take both from one machine, without "
            "CUDA_VISIBLE_DEVICES)");
  EXPECT_EQ(
      refusal(gpu_csv({t4, t4}), std::string(header) + "GPU0\t X \tPHB\t0-7\nGPU1\tPHB\t X \t0-7\n",
              " \tGPU0\n GPU0\tX\n"),
      "p2p.txt: has 1 GPUs, but gpus.csv lists 2 (take both from one machine)");
}

TEST(RejectDetected, matrices_that_are_cut_or_fused) {
  const auto of = [](const std::string& rows) {
    return refusal(gpu_csv({t4, t4}), std::string(header) + rows);
  };
  EXPECT_THAT(refusal(gpu_csv({t4, t4}), "nothing"),
              HasSubstr("topo.txt: has no header line with GPU0 (give the whole output of "
                        "`nvidia-smi topo -m`)"));
  EXPECT_THAT(of("GPU0\t X \tPHB\t0-7\n"), HasSubstr("topo.txt: the row of GPU1 is missing"));
  EXPECT_THAT(of("GPU0\t X \tPHB\nGPU1\tPHBX\n"),
              HasSubstr("topo.txt: line 3: has 1 cells for 2 devices"));
  EXPECT_THAT(
      of("GPU0\t X \tPXBNODE\t0-7\nGPU1\tPHB\t X \t0-7\n"),
      HasSubstr("topo.txt: line 2: got \"PXBNODE\" between GPU0 and GPU1 (must be NV#, PIX, "
                "PXB, PHB, NODE or SYS)"));
  EXPECT_THAT(of("GPU0\tPHB\t X \t0-7\nGPU1\tPHB\t X \t0-7\n"),
              HasSubstr("topo.txt: line 2: got \"PHB\" between GPU0 and GPU0 (must be X)"));
  EXPECT_THAT(of("GPU0\t X \tPHB\t0-7\nGPU1\tSYS\t X \t0-7\n"),
              HasSubstr("topo.txt: the ways GPU1 to GPU0 and back differ, which no machine has"));
  EXPECT_THAT(of("GPU0\t X \tPHB\t0-7\nGPU0\t X \tPHB\t0-7\n"),
              HasSubstr("topo.txt: line 3: GPU0 stands twice"));
}

TEST(RejectDetected, peers_that_are_cut) {
  const std::string topology = std::string(header) + "GPU0\t X \tPHB\t0-7\nGPU1\tPHB\t X \t0-7\n";
  EXPECT_THAT(refusal(gpu_csv({t4, t4}), topology, " \tGPU0\tGPU1\n GPU0\tX\tOK\n"),
              HasSubstr("p2p.txt: the row of GPU1 is missing or stands twice"));
  EXPECT_THAT(refusal(gpu_csv({t4, t4}), topology, " \tGPU0\tGPU1\n GPU0\tX\n"),
              HasSubstr("p2p.txt: line 2: has 1 cells for 2 devices"));
}

TEST(RejectDetected, nvlink_at_a_card_that_has_none) {
  EXPECT_EQ(
      refusal(gpu_csv({t4, t4}),
              std::string(header) + "GPU0\t X \tNV2\t0-7\nGPU1\tNV2\t X \t0-7\n"),
      "topo.txt: shows NVLink at GPU0, but the gpu file of t4 has none (name the card that it "
      "is with --card)");
}

TEST(RejectDetected, a_host_text_of_something_else) {
  MachineTexts texts = texts_of(gpu_csv({t4}), "", "");
  texts.host = NamedText{"cpu.txt", "Socket(s): 1\n"};
  EXPECT_EQ(
      test::message_of<core::ConfigError>([&] { return detected_gpu_cluster(texts, {}, ""); }),
      "cpu.txt: has no line \"CPU(s):\" (give the whole output of `LC_ALL=C lscpu; grep "
      "MemTotal /proc/meminfo`)");
}

}  // namespace
}  // namespace paceline::hardware_profiles
