#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware_profiles/cluster.hpp"
#include "hardware_profiles/detected_cluster.hpp"
#include "hardware_profiles/host_cpu.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/hardware_profiles/machine_texts.hpp"

/// Does a machine come out of its tools' texts as it is wired?
namespace paceline::hardware_profiles {
namespace {

using test::gpu_csv;
using test::texts_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Cluster cluster_of(const MachineTexts& texts,
                   const std::map<std::string, std::string>& cards = {}) {
  return read_cluster_text(detected_gpu_cluster(texts, cards, "").text, "detected.json", "");
}

/// Rate of the link between two devices in GB/s; 0 without one.
double gb_per_s(const Cluster& cluster, const std::string& a, const std::string& b) {
  for (const Link& link : cluster.links) {
    const std::string& from = cluster.vertices[link.a.index()].name;
    const std::string& to = cluster.vertices[link.b.index()].name;
    if ((from == "node0/" + a && to == "node0/" + b) ||
        (from == "node0/" + b && to == "node0/" + a)) {
      return link.bandwidth.value() / 1e9;
    }
  }
  return 0;
}

TEST(DetectedCluster, one_card_hangs_on_one_cpu) {
  const Cluster cluster =
      cluster_of(texts_of(gpu_csv({{"NVIDIA H200", 143771, 5, 5, 16, 16}}), "", ""));
  ASSERT_THAT(cluster.slots, SizeIs(1));
  EXPECT_EQ(cluster.slots[0].gpu, "h200");
  EXPECT_EQ(gb_per_s(cluster, "gpu0", "cpu0"), 63);  // 3.9375 GB/s a lane × 16
}

TEST(DetectedCluster, an_idle_link_counts_at_its_maximum_generation_and_its_lanes_of_now) {
  const auto found = detected_gpu_cluster(
      texts_of(gpu_csv({{"NVIDIA GeForce RTX 3090", 24576, 4, 1, 16, 8}}), "", ""), {}, "");
  EXPECT_THAT(found.notes,
              Contains("gpu0: PCI Express 4, the maximum of card and slot (it runs at 1 now: idle "
                       "links clock down)."));
  EXPECT_THAT(found.notes, Contains(HasSubstr("gpu0: 8 lanes in use now of 16 possible")));
  const Cluster cluster = read_cluster_text(found.text, "d.json", "");
  EXPECT_EQ(gb_per_s(cluster, "gpu0", "cpu0"), 15.75);  // 1.96875 × 8
}

TEST(DetectedCluster, what_the_driver_does_not_tell_comes_from_the_card) {
  const auto found =
      detected_gpu_cluster(texts_of("name, memory.total [MiB], pcie.link.gen.max, uuid\n"
                                    "Tesla T4, 15360 MiB, [N/A], GPU-1\n",
                                    "", ""),
                           {}, "");
  EXPECT_THAT(found.notes, Contains(HasSubstr("the card's own, 3, is taken")));
  const Cluster cluster = read_cluster_text(found.text, "d.json", "");
  EXPECT_EQ(gb_per_s(cluster, "gpu0", "cpu0"), 15.75);  // 0.984375 × 16
}

TEST(DetectedCluster, a_bridged_pair_and_a_third_card) {
  const test::GpuOfCsv card{"NVIDIA RTX A6000", 49140, 4, 4, 16, 16};
  const Cluster cluster = cluster_of(texts_of(gpu_csv({card, card, card}),
                                              "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\n"
                                              "GPU0\t X \tNV4\tNODE\t0-31,64-95\t0\n"
                                              "GPU1\tNV4\t X \tNODE\t0-31,64-95\t0\n"
                                              "GPU2\tNODE\tNODE\t X \t0-31,64-95\t0\n",
                                              ""));
  // Four links of a bridge claim 4 × 25; the card has 56.25 in all.
  EXPECT_EQ(gb_per_s(cluster, "gpu0", "gpu1"), 56.25);
  EXPECT_EQ(gb_per_s(cluster, "gpu0", "gpu2"), 0);
  EXPECT_EQ(gb_per_s(cluster, "gpu2", "cpu0"), 31.5);
  EXPECT_EQ(cluster.slots.size(), 3U);
}

TEST(DetectedCluster, a_hybrid_mesh_has_links_of_different_width) {
  const test::GpuOfCsv card{"Tesla V100-SXM2-16GB", 16160, 3, 3, 16, 16};
  const Cluster cluster =
      cluster_of(texts_of(gpu_csv({card, card, card, card}),
                          "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n"
                          "GPU0\t X \tNV1\tNV1\tNV2\t0-31\nGPU1\tNV1\t X \tNV2\tNV1\t0-31\n"
                          "GPU2\tNV1\tNV2\t X \tNV2\t0-31\nGPU3\tNV2\tNV1\tNV2\t X \t0-31\n",
                          ""));
  // Generation 2: 25 GB/s a link. GPU2: 1 + 2 + 2 links = 125 of the card's 150.
  EXPECT_EQ(gb_per_s(cluster, "gpu0", "gpu1"), 25);
  EXPECT_EQ(gb_per_s(cluster, "gpu0", "gpu3"), 50);
  EXPECT_EQ(gb_per_s(cluster, "gpu2", "gpu3"), 50);
}

TEST(DetectedCluster, pairs_that_all_claim_the_whole_card_meet_at_a_switch) {
  const std::vector<test::GpuOfCsv> cards(4, {"NVIDIA H200", 143771, 5, 5, 16, 16});
  const auto found = detected_gpu_cluster(
      texts_of(gpu_csv(cards),
               "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA "
               "ID\x1b[0m\n"
               "GPU0\t X \tNV18\tNV18\tNV18\tPXB\t0-63\t0\t\tN/A\n"
               "GPU1\tNV18\t X \tNV18\tNV18\tNODE\t0-63\t0\t\tN/A\n"
               "GPU2\tNV18\tNV18\t X \tNV18\tSYS\t64-127\t1\t\tN/A\n"
               "GPU3\tNV18\tNV18\tNV18\t X \tSYS\t64-127\t1\t\tN/A\n"
               "NIC0\tPXB\tNODE\tSYS\tSYS\t X \t\t\t\t\n\nLegend:\n\n  X    = Self\n\n"
               "NIC Legend:\n\n  NIC0: mlx5_10\n",
               ""),
      {}, "");
  const Cluster cluster = read_cluster_text(found.text, "d.json", "");
  EXPECT_EQ(gb_per_s(cluster, "gpu0", "nvswitch"), 450);  // 18 × 25, all of the card
  EXPECT_EQ(gb_per_s(cluster, "gpu0", "gpu1"), 0);
  EXPECT_EQ(gb_per_s(cluster, "gpu2", "cpu1"), 63);
  // The adapter has no NUMA node of its own; it shares a switch with GPU0.
  EXPECT_EQ(gb_per_s(cluster, "nic0", "pcie_switch0"), 63);
  EXPECT_EQ(gb_per_s(cluster, "gpu0", "pcie_switch0"), 63);
  EXPECT_EQ(gb_per_s(cluster, "pcie_switch0", "cpu0"), 63);
  EXPECT_EQ(gb_per_s(cluster, "cpu0", "cpu1"), 10);
  EXPECT_THAT(found.notes, Contains(HasSubstr("1 network adapters: nvidia-smi does not tell")));
}

TEST(DetectedCluster, cards_on_two_sockets_are_told_apart_without_numa_nodes) {
  const test::GpuOfCsv card{"NVIDIA GeForce RTX 3070", 8192, 4, 4, 16, 16};
  const Cluster cluster =
      cluster_of(texts_of(gpu_csv({card, card, card}),
                          "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                          "GPU0\t X \tSYS\tSYS\t0-31\t0-1\t\tN/A\n"
                          "GPU1\tSYS\t X \tPHB\t0-31\t0-1\t\tN/A\n"
                          "GPU2\tSYS\tPHB\t X \t0-31\t0-1\t\tN/A\n",
                          ""));
  EXPECT_EQ(gb_per_s(cluster, "gpu0", "cpu0"), 31.5);
  EXPECT_EQ(gb_per_s(cluster, "gpu1", "cpu1"), 31.5);
  EXPECT_EQ(gb_per_s(cluster, "gpu2", "cpu1"), 31.5);
}

TEST(DetectedCluster, peers_that_may_not_read_each_other) {
  const test::GpuOfCsv card{"NVIDIA GeForce RTX 4090", 24564, 4, 4, 16, 16};
  const std::string topology =
      "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPHB\t0-7\nGPU1\tPHB\t X \t0-7\n";
  const auto says = [&](const std::string& word) {
    return cluster_of(texts_of(gpu_csv({card, card}), topology,
                               " \t\x1b[4mGPU0\tGPU1\t\x1b[0m\n GPU0\tX\t" + word + "\t\n GPU1\t" +
                                   word + "\tX\t\n\nLegend:\n\n  OK   = Status Ok\n"))
        .peer_to_peer_over_pcie(0);
  };
  EXPECT_TRUE(says("OK"));
  EXPECT_FALSE(says("CNS"));
}

TEST(DetectedCluster, the_host_comes_from_lscpu) {
  MachineTexts texts = texts_of(gpu_csv({{"Tesla T4", 15360, 3, 3, 16, 16}}), "", "");
  texts.host = NamedText{"cpu.txt",
                         "CPU(s):              64\nModel name:  Some CPU\nThread(s) per core: 2\n"
                         "Core(s) per socket:  16\nSocket(s): 2\nMemTotal:   67108864 kB\n"};
  const Cluster cluster = cluster_of(texts);
  EXPECT_EQ(cluster.node(0).cpu->sockets, 2);
  EXPECT_EQ(cluster.node(0).cpu->cores_per_socket, 16);
  EXPECT_EQ(cluster.node(0).memory_gib->value, 64);
  EXPECT_EQ(cluster.node(0).name, "Some CPU");
}

TEST(DetectedCluster, boards_without_sockets_count_their_cores) {
  const HostCpu cpu = read_lscpu({"cpu.txt",
                                  "CPU(s): 20\nModel name: Cortex\nThread(s) per core: 1\n"
                                  "Core(s) per cluster: 10\nSocket(s): -\nCluster(s): 2\n"});
  EXPECT_EQ(cpu.sockets, 1);
  EXPECT_EQ(cpu.cores_per_socket, 20);
  EXPECT_FALSE(cpu.memory_gib);
}

TEST(DetectedCluster, memory_settles_a_name_that_several_cards_have) {
  // "Tesla V100" stands in ambiguous_names.json for 16 and 32 GB, SXM and PCIe: two stay.
  const auto problem = test::message_of<core::ConfigError>([] {
    return detected_gpu_cluster(texts_of(gpu_csv({{"V100-SXM2", 32510, 3, 3, 16, 16}}), "", ""), {},
                                "");
  });
  EXPECT_EQ(problem, "no exception");
  const auto found =
      detected_gpu_cluster(texts_of(gpu_csv({{"V100-SXM2", 32510, 3, 3, 16, 16}}), "", ""), {}, "");
  EXPECT_THAT(found.notes, Contains("\"V100-SXM2\" with 31.7 GiB is the v100_sxm2_32gb: no other "
                                    "card of that name has as much."));
}

TEST(DetectedCluster, a_name_means_the_card_that_the_user_says) {
  const Cluster cluster =
      cluster_of(texts_of(gpu_csv({{"NVIDIA RTX 6000", 49140, 4, 4, 16, 16}}), "", ""),
                 {{"NVIDIA RTX 6000", "rtx_6000_ada"}});
  EXPECT_EQ(cluster.slots[0].gpu, "rtx_6000_ada");
}

TEST(DetectedCluster, a_cpu_has_a_rank_for_each_core_that_may_be_used) {
  const HostCpu host{"Some CPU", 2, 4, 16.0};
  const auto found = detected_cpu_cluster(host, 6, 12.5);
  const Cluster cluster = read_cluster_text(found.text, "d.json", "");
  EXPECT_THAT(cluster.slots, SizeIs(6));
  EXPECT_EQ(gb_per_s(cluster, "rank0", "rank5"), 12.5);
  EXPECT_EQ(cluster.cpu_devices.at("this_cpu").memory_gib, 16);
  EXPECT_THAT(found.notes,
              ElementsAre("Some CPU: 8 physical cores in 2 sockets, 16.0 GiB.",
                          "This process may use 6 of them, so the cluster has 6 ranks.",
                          HasSubstr("Kernel times and exchanges are not measured yet; make it")));
}

TEST(DetectedCluster, a_cpu_that_is_not_calibrated_says_what_it_lacks) {
  const Cluster cluster =
      read_cluster_text(detected_cpu_cluster({"Some CPU", 1, 2, 4.0}, 2, std::nullopt).text,
                        "this_machine (as detected)", "");
  EXPECT_EQ(
      test::message_of<core::ConfigError>([&] { return cluster.device_of(0); }),
      "this_machine (as detected)#/cpu_devices/this_cpu/levels: is empty: \"Some CPU\" is not "
      "calibrated, so the times of its kernels and of exchanges between its ranks are not "
      "known (make it with `mpirun -n 2 paceline-rt calibrate --out m.json; paceline "
      "make-profile m.json --out ~/.local/share/paceline/clusters/this_machine.json`; a "
      "profile of this machine's GPUs: `paceline detect`)");
}

TEST(ThisHost, copies_at_a_rate_that_memory_can_give) {
  // Slower than a disk or faster than any cache would be a mistake of the clock or of the bytes.
  const double rate = measured_copy_gb_per_s();
  EXPECT_GT(rate, 0.05);
  EXPECT_LT(rate, 1000);
}

}  // namespace
}  // namespace paceline::hardware_profiles
