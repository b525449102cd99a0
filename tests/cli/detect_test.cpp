#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planted_files.hpp"

/// `paceline detect` with saved texts, with tools that stand in for the driver's, and without.
namespace paceline::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Detect : public testing::Test {
 protected:
  Detect() {
    workplace_.write("gpus.csv", planted_gpus());
    workplace_.write("topo.txt", planted_topology());
  }
  Workplace workplace_;
};

TEST_F(Detect, a_cluster_from_saved_texts_is_one_that_check_accepts) {
  const Ran ran = workplace_.run(
      {"detect", "--from-nvidia-smi", "gpus.csv", "--from-topo", "topo.txt", "--out", "lab.json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(
      ran.out,
      AllOf(HasSubstr("gpu0: PCI Express 4, the maximum of card and slot (it runs at 1 now: "
                      "idle links clock down).\n"),
            HasSubstr("gpu1: 8 lanes in use now of 16 possible"),
            HasSubstr("Wrote lab.json. Use it: --set cluster=lab.json")));
  EXPECT_EQ(workplace_.run({"check", "lab.json"}).out, "ok  lab.json  cluster\n");
}

TEST_F(Detect, without_out_the_file_goes_to_standard_output_and_the_notes_beside_it) {
  const Ran ran =
      workplace_.run({"detect", "--from-nvidia-smi", "gpus.csv", "--from-topo", "topo.txt"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out.substr(0, 2), "{\n");
  EXPECT_THAT(ran.err, HasSubstr("8 lanes in use now"));
  workplace_.write("again.json", ran.out);
  EXPECT_EQ(workplace_.run({"check", "again.json"}).code, 0);
}

TEST_F(Detect, a_machine_without_nvidia_smi_is_its_cpu_and_says_what_to_paste) {
  if (workplace_.run({"detect"}).err.find("No nvidia-smi here") == std::string::npos) {
    GTEST_SKIP() << "this machine has nvidia-smi";
  }
  const Ran ran = workplace_.run({"detect", "--out", "cpu.json", "--bench-host"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("No nvidia-smi here, so this is the machine's CPU ("),
                    HasSubstr("Two cores copy "), HasSubstr("  nvidia-smi topo -m > topo.txt\n"),
                    HasSubstr("  paceline detect --from-nvidia-smi gpus.csv --from-topo topo.txt "
                              "--from-p2p p2p.txt --from-lscpu cpu.txt --out cluster.json\n")));
  // Its slots can be named, and a prediction says what they lack.
  workplace_.write("e.json", R"({"schema": "paceline/experiment/1", "model": "vit_digits",
                                 "cluster": "cpu.json", "training": {"micro_batch": 8}})");
  const Ran predicted = workplace_.run({"predict", "e.json"});
  EXPECT_EQ(predicted.code, 2);
  EXPECT_THAT(predicted.err, AllOf(HasSubstr("cpu.json#/cpu_devices/this_cpu/levels: is empty: "),
                                   HasSubstr("is not calibrated, so the times of its kernels"),
                                   HasSubstr("paceline-rt calibrate --out m.json")));
}

TEST_F(Detect, this_machine_without_a_profile_says_what_it_lacks) {
  workplace_.write("e.json", R"({"schema": "paceline/experiment/1", "model": "vit_digits",
                                 "training": {"micro_batch": 8}})");
  const Ran ran = workplace_.run({"predict", "e.json", "--set", "cluster=this_machine"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("this_machine (as detected)"),
                             HasSubstr("is not calibrated"), HasSubstr("make-profile m.json")));
}

/// Tools of the driver that print what is planted.
class DetectWithTools : public Detect {
 protected:
  DetectWithTools() { std::filesystem::create_directory(workplace_.path("tools")); }
  void tool(const std::string& script) {
    workplace_.write("tools/nvidia-smi", "#!/bin/sh\n" + script);
    std::filesystem::permissions(workplace_.path("tools/nvidia-smi"),
                                 std::filesystem::perms::owner_all);
  }
  [[nodiscard]] Ran run(const std::vector<std::string>& words) const {
    return workplace_.run(words, {{"PATH", workplace_.path("tools").string() + ":/usr/bin:/bin"}});
  }
};

TEST_F(DetectWithTools, asks_the_driver_and_the_host) {
  tool("case \"$*\" in *--query-gpu*) cat gpus.csv;; 'topo -m') cat topo.txt;; *) exit 6;; esac\n");
  const Ran ran = run({"detect", "--out", "here.json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Peer to peer over PCI Express is as the gpu files say: give "
                                 "`nvidia-smi topo -p2p r` to know."));
  EXPECT_THAT(workplace_.read("here.json"),
              AllOf(HasSubstr("\"gpu\": \"rtx3090\""), HasSubstr("\"gpu\": \"gtx1080ti\""),
                    HasSubstr("cores_per_socket")));
}

TEST_F(DetectWithTools, a_driver_that_fails_is_told_and_nothing_is_written) {
  tool(
      "echo \"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\"\n"
      "exit 9\n");
  const Ran ran = run({"detect", "--out", "here.json"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err,
            "nvidia-smi is here, but failed: NVIDIA-SMI has failed because it couldn't communicate "
            "with the NVIDIA driver. (load the driver; or give saved texts with "
            "--from-nvidia-smi)\n");
  EXPECT_FALSE(workplace_.has("here.json"));
}

TEST_F(Detect, options_that_do_not_go_together) {
  const Ran topo = workplace_.run({"detect", "--from-topo", "topo.txt"});
  EXPECT_EQ(topo.code, 2);
  EXPECT_THAT(topo.err, HasSubstr("--from-topo, --from-p2p and --from-lscpu need "
                                  "--from-nvidia-smi, which names the cards. On the machine:"));
  const Ran bench = workplace_.run({"detect", "--from-nvidia-smi", "gpus.csv", "--bench-host"});
  EXPECT_EQ(bench.code, 2);
  EXPECT_THAT(bench.err,
              HasSubstr("--bench-host measures this machine, not the one of saved texts"));
  const Ran card = workplace_.run({"detect", "--card", "t4"});
  EXPECT_EQ(card.code, 2);
  EXPECT_THAT(card.err, HasSubstr("--card: got \"t4\" (must be 'NAME=ID': a name of nvidia-smi and "
                                  "a gpu file)"));
}

TEST_F(Detect, a_card_that_nobody_knows_is_refused_before_anything_is_written) {
  workplace_.write("gpus.csv", "name, memory.total [MiB]\nNVIDIA Nonesuch, 1024 MiB\n");
  const Ran ran = workplace_.run({"detect", "--from-nvidia-smi", "gpus.csv", "--out", "lab.json"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("gpus.csv: no GPU is called \"NVIDIA Nonesuch\""),
                             HasSubstr("--card 'NVIDIA Nonesuch=ID'")));
  EXPECT_FALSE(workplace_.has("lab.json"));
}

}  // namespace
}  // namespace paceline::cli
