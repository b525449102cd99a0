#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "hardware_profiles/cluster.hpp"

namespace paceline::hardware_profiles {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> faults_of(const core::ConfigError& error) {
  std::vector<std::string> texts;
  for (const core::Fault& fault : error.faults()) texts.push_back(fault.text());
  return texts;
}

std::vector<std::string> faults_of(const std::string& text, const std::string& profiles = "") {
  try {
    (void)read_cluster_text(text, "c.json", profiles);
  } catch (const core::ConfigError& error) {
    return faults_of(error);
  }
  return {};
}

std::string cluster_text(const std::string& rest) {
  return R"({"schema": "paceline/cluster/1", "id": "c", "name": "c", )" + rest + "}";
}

constexpr auto two_cards =
    R"("devices": [{"id": "cpu0", "kind": "cpu"}, {"id": "gpu0", "kind": "gpu", "gpu": "t4"},
                   {"id": "gpu1", "kind": "gpu", "gpu": "t4"}],)";
constexpr auto two_slots =
    R"("links": [{"between": ["gpu0", "cpu0"], "kind": "pcie", "bandwidth_gb_per_s": 15},
                 {"between": ["gpu1", "cpu0"], "kind": "pcie", "bandwidth_gb_per_s": 15}])";

/// A cluster of one inline node with two cards.
std::string with_links(const std::string& links) {
  return cluster_text(R"("nodes": [{)" + std::string(two_cards) + R"("links": [)" + links + "]}]");
}

/// A cluster of equal nodes of Vector and what else is given.
std::string vectors(int count, const std::string& rest) {
  return cluster_text(R"("nodes": [{"node": "vector_node", "count": )" + std::to_string(count) +
                      "}], " + rest);
}

std::string cpu_cluster(const std::string& device, const std::string& links,
                        const std::string& cpu_device = "this_cpu") {
  return cluster_text(
      R"("nodes": [{"devices": [{"id": "rank0", "kind": "cpu_rank", "cpu_device": ")" + cpu_device +
      R"("}, {"id": "rank1", "kind": "cpu_rank",
                      "cpu_device": "this_cpu"}], "links": [)" +
      links +
      R"(]}], "cpu_devices": {"this_cpu": {"name": "n", "host_issue_us": 0,
                      "reduction_us_per_call": 0, "reduction_us_per_byte": 0, )" +
      device + "}}");
}
constexpr auto good_device =
    R"("threads": 1, "memory_gib": 8, "levels": [{"active_ranks": 1, "reference_gflop_per_s": 40,
       "kernels": {}}])";
constexpr auto good_exchange =
    R"({"between": "all_cpu_ranks", "kind": "shared_memory",
        "measured": [{"bytes": 4, "time_us": 1}, {"bytes": 8, "time_us": 2}]})";

TEST(RejectCluster, the_texts_that_these_tests_start_from_are_good) {
  EXPECT_THAT(faults_of(cluster_text(R"("nodes": [{)" + std::string(two_cards) + two_slots + "}]")),
              ElementsAre());
  EXPECT_THAT(faults_of(vectors(1, R"("fabric": {"kind": "none"})")), ElementsAre());
  EXPECT_THAT(faults_of(cpu_cluster(good_device, good_exchange)), ElementsAre());
}

TEST(RejectCluster, rates_that_are_not_positive_all_at_once) {
  EXPECT_THAT(faults_of(with_links(
                  R"({"between": ["gpu0", "cpu0"], "kind": "pcie", "bandwidth_gb_per_s": -8},
             {"between": ["gpu1", "cpu0"], "kind": "pcie", "bandwidth_gb_per_s": 0,
              "latency_us": -1})")),
              ElementsAre("c.json#/nodes/0/links/0/bandwidth_gb_per_s: got -8 (must be > 0.0)",
                          "c.json#/nodes/0/links/1/bandwidth_gb_per_s: got 0 (must be > 0.0)",
                          "c.json#/nodes/0/links/1/latency_us: got -1 (must be >= 0.0)"));
}

TEST(RejectCluster, a_link_to_a_missing_device) {
  EXPECT_THAT(
      faults_of(
          with_links(R"({"between": ["gpu0", "cpu1"], "kind": "pcie", "bandwidth_gb_per_s": 8})")),
      ElementsAre("c.json#/nodes/0/links/0/between/1: got \"cpu1\", which is no device of this "
                  "node; did you mean \"cpu0\"?"));
}

TEST(RejectCluster, a_link_from_a_device_to_itself) {
  EXPECT_THAT(
      faults_of(
          with_links(R"({"between": ["gpu0", "gpu0"], "kind": "pcie", "bandwidth_gb_per_s": 8})")),
      ElementsAre(
          "c.json#/nodes/0/links/0/between: got \"gpu0\" twice (a link joins two devices)"));
}

TEST(RejectCluster, a_link_without_a_rate_and_one_of_an_unknown_kind) {
  EXPECT_THAT(faults_of(with_links(R"({"between": ["gpu0", "cpu0"], "kind": "pcie"},
                                      {"between": ["gpu1", "cpu0"], "kind": "pci",
                                       "bandwidth_gb_per_s": 8})")),
              ElementsAre(StartsWith("c.json#/nodes/0/links/1/kind: got \"pci\", did you mean "
                                     "\"pcie\"? (must be one of nvlink, pcie, "),
                          "c.json#/nodes/0/links/0: has no rate (give bandwidth_gb_per_s, or "
                          "measured)"));
}

TEST(RejectCluster, half_duplex) {
  EXPECT_THAT(faults_of(with_links(R"({"between": ["gpu0", "cpu0"], "kind": "pcie",
                                       "bandwidth_gb_per_s": 8, "duplex": "half"})")),
              ElementsAre(StartsWith("c.json#/nodes/0/links/0/duplex: got \"half\"")));
}

TEST(RejectCluster, cards_without_a_way_to_each_other) {
  EXPECT_THAT(
      faults_of(
          with_links(R"({"between": ["gpu0", "cpu0"], "kind": "pcie", "bandwidth_gb_per_s": 8})")),
      ElementsAre("c.json#/nodes/0/devices/2: no way from node0/gpu1 to node0/gpu0 (give the links "
                  "that join them)"));
}

TEST(RejectCluster, an_unknown_kind_of_device) {
  EXPECT_THAT(faults_of(cluster_text(
                  R"("nodes": [{"devices": [{"id": "a", "kind": "gpuu", "gpu": "t4"}]}])")),
              ElementsAre("c.json#/nodes/0/devices/0/kind: got \"gpuu\", did you mean \"gpu\"? "
                          "(must be one of cpu, gpu, nic, switch, cpu_rank, memory)"));
}

TEST(RejectCluster, a_device_id_given_twice_or_with_a_slash) {
  EXPECT_THAT(faults_of(cluster_text(R"("nodes": [{"devices": [
                {"id": "a", "kind": "gpu", "gpu": "t4"}, {"id": "a", "kind": "cpu"},
                {"id": "b/c", "kind": "cpu"}]}])")),
              ElementsAre("c.json#/nodes/0/devices/2/id: got \"b/c\" (must not be empty, hold a "
                          "slash or be all_cpu_ranks)",
                          "c.json#/nodes/0/devices/1/id: got \"a\", which is given twice in this "
                          "node (ids must differ)"));
}

TEST(RejectCluster, keys_that_belong_to_another_kind_of_device) {
  EXPECT_THAT(
      faults_of(cluster_text(R"("nodes": [{"devices": [
                {"id": "a", "kind": "cpu", "gpu": "t4"}, {"id": "b", "kind": "cpu_rank"},
                {"id": "c", "kind": "gpu", "bandwidth_gbit_per_s": 8}]}])")),
      ElementsAre("c.json#/nodes/0/devices/0/gpu: does not belong to a cpu (only to a gpu)",
                  "c.json#/nodes/0/devices/1: the key \"cpu_device\" is missing (a cpu_rank "
                  "names one of `cpu_devices`)",
                  "c.json#/nodes/0/devices/2/bandwidth_gbit_per_s: does not belong to a "
                  "gpu (only to a nic)"));
}

TEST(RejectCluster, an_unknown_or_ambiguous_card) {
  EXPECT_THAT(faults_of(cluster_text(R"("nodes": [{"devices": [
                {"id": "a", "kind": "gpu", "gpu": "rtx3091"},
                {"id": "b", "kind": "gpu", "gpu": "a100_sxm4"}]}])")),
              ElementsAre(StartsWith("c.json#/nodes/0/devices/0/gpu: got \"rtx3091\": no GPU is "
                                     "called \"rtx3091\"; did you mean \"rtx3090\"?"),
                          StartsWith("c.json#/nodes/0/devices/1/gpu: got \"a100_sxm4\": the name "
                                     "\"a100_sxm4\" fits several cards: a100_sxm4_40gb")));
}

TEST(RejectCluster, an_unknown_node) {
  const auto faults = faults_of(cluster_text(R"("nodes": [{"node": "vector_nod"}])"));
  EXPECT_THAT(faults, ElementsAre(StartsWith("c.json#/nodes/0/node: no node \"vector_nod\" "
                                             "(searched ")));
  EXPECT_THAT(faults.at(0), HasSubstr("did you mean \"vector_node\"?"));
}

TEST(RejectCluster, a_node_id_that_is_a_path) {
  EXPECT_THAT(faults_of(cluster_text(R"("nodes": [{"node": "../clusters/tesla"}])")),
              ElementsAre(StartsWith("c.json#/nodes/0/node: no node \"../clusters/tesla\"")));
}

TEST(RejectCluster, no_node_and_both_kinds_of_node) {
  EXPECT_THAT(faults_of(cluster_text(R"("nodes": [{"count": 2}, {"node": "vector_node",
                "devices": [{"id": "a", "kind": "cpu"}]}],
                "fabric": {"kind": "single_switch"})")),
              ElementsAre("c.json#/nodes/0: names no node (give \"node\", or write one with "
                          "\"devices\" and \"links\")",
                          "c.json#/nodes/1/devices: stands beside \"node\" (it belongs to a node "
                          "written here)"));
}

TEST(RejectCluster, no_slot_for_any_rank) {
  EXPECT_THAT(faults_of(cluster_text(R"("nodes": [{"node": "workstation"}])")),
              ElementsAre("c.json#/nodes: hold no device that a rank can run on (give a gpu with a "
                          "card, or a cpu_rank)"));
}

TEST(RejectCluster, more_cards_than_slots) {
  EXPECT_THAT(faults_of(cluster_text(R"("nodes": [{"node": "workstation",
                "gpus": ["t4", "t4", "t4", "t4", "t4"]}])")),
              ElementsAre("c.json#/nodes/0/gpus: got 5 cards (the node has 4 empty slots)"));
}

TEST(RejectCluster, absurd_counts) {
  EXPECT_THAT(faults_of(vectors(0, R"("fabric": {"kind": "none"})")),
              ElementsAre("c.json#/nodes/0/count: got 0 (must be >= 1)"));
  EXPECT_THAT(faults_of(vectors(2000000, R"("fabric": {"kind": "single_switch"})")),
              ElementsAre("c.json#/nodes/0/count: got 2000000 (must be <= 1048576: more nodes than "
                          "any cluster has)"));
  // 1,048,576 nodes of 11 devices.
  EXPECT_THAT(faults_of(vectors(1048576, R"("fabric": {"kind": "single_switch"})")),
              ElementsAre("c.json#/nodes: hold 11534336 devices (at most 1048576)"));
}

TEST(RejectCluster, several_nodes_without_a_fabric) {
  EXPECT_THAT(faults_of(vectors(2, R"("fabric": {"kind": "none"})")),
              ElementsAre("c.json#/fabric/kind: got \"none\" with 2 nodes (must be single_switch, "
                          "leaf_spine, rail_optimized or graph)"));
}

TEST(RejectCluster, a_fabric_that_joins_nodes_without_a_nic) {
  EXPECT_THAT(faults_of(cluster_text(R"("nodes": [{"node": "nebula_node", "count": 2}],
                "fabric": {"kind": "single_switch", "link": {"bandwidth_gbit_per_s": 10}})")),
              ElementsAre("c.json#/nodes/0: has no device of kind nic (by which the fabric joins "
                          "its nodes)"));
}

TEST(RejectCluster, keys_of_another_fabric_and_missing_ones) {
  EXPECT_THAT(faults_of(vectors(2, R"("fabric": {"kind": "single_switch", "spines": 2})")),
              ElementsAre("c.json#/fabric/spines: does not belong to a fabric of kind "
                          "single_switch"));
  EXPECT_THAT(faults_of(vectors(2, R"("fabric": {"kind": "leaf_spine", "spines": 2})")),
              ElementsAre("c.json#/fabric: the key \"nodes_per_leaf\" is missing (leaf_spine needs "
                          "it)",
                          "c.json#/fabric: the key \"uplink\" is missing (leaf_spine needs it)"));
  EXPECT_THAT(faults_of(vectors(2, R"("fabric": {"kind": "ring"})")),
              ElementsAre(StartsWith("c.json#/fabric/kind: got \"ring\"")));
}

TEST(RejectCluster, more_uplinks_than_fit) {
  EXPECT_THAT(faults_of(vectors(54, R"("fabric": {"kind": "leaf_spine", "nodes_per_leaf": 1,
                "link": {"bandwidth_gbit_per_s": 10}, "spines": 1048576,
                "uplink": {"bandwidth_gbit_per_s": 10}})")),
              ElementsAre("c.json#/fabric/spines: got 1048576 with 54 leaves (at most 16777216 "
                          "uplinks)"));
}

TEST(RejectCluster, a_drawn_fabric_with_ends_that_do_not_exist) {
  EXPECT_THAT(faults_of(vectors(2, R"("fabric": {"kind": "graph", "switches": ["s", "s"],
                "links": [{"between": ["node0/nic0", "s"], "bandwidth_gbit_per_s": 10}]})")),
              ElementsAre("c.json#/fabric/switches/1: got \"s\", which is given twice (ids must "
                          "differ)"));
  EXPECT_THAT(faults_of(vectors(2, R"("fabric": {"kind": "graph", "switches": ["s"],
                "links": [{"between": ["node0/nic1", "s"], "bandwidth_gbit_per_s": 10},
                          {"between": ["s", "s"], "bandwidth_gbit_per_s": 10}]})")),
              ElementsAre("c.json#/fabric/links/0/between/0: got \"node0/nic1\" (must be one of "
                          "`switches`, or a device as node0/nic0)",
                          "c.json#/fabric/links/1/between: got \"s\" twice (a link joins two)"));
}

TEST(RejectCluster, a_drawn_fabric_that_leaves_a_node_out) {
  const auto faults = faults_of(vectors(2, R"("fabric": {"kind": "graph", "switches": ["s"],
      "links": [{"between": ["node0/nic0", "s"], "bandwidth_gbit_per_s": 10}]})"));
  ASSERT_EQ(faults.size(), 8U);  // each card of the node
  EXPECT_THAT(faults[0], HasSubstr("nodes/vector_node.json#/devices/2: no way from node1/gpu0 to "
                                   "node0/gpu0"));
}

TEST(RejectCluster, overrides_that_fit_nothing) {
  const std::string fabric =
      R"("fabric": {"kind": "single_switch", "link": {"bandwidth_gbit_per_s": 10}}, )";
  EXPECT_THAT(faults_of(vectors(2, fabric + R"("overrides": [
                {"node": 2, "link": {"latency_us": 4}}, {"node": 0, "link": {}},
                {"node": 0, "link": {"bandwidth_gbit_per_s": 1, "bandwidth_gb_per_s": 1}}])")),
              ElementsAre("c.json#/overrides/1/link: changes nothing (give a rate or latency_us)",
                          "c.json#/overrides/2/link: has two rates (give bandwidth_gbit_per_s or "
                          "bandwidth_gb_per_s)",
                          "c.json#/overrides/0/node: got 2 (must be < 2: nodes count from 0 over "
                          "all groups)"));
  EXPECT_THAT(faults_of(vectors(2, fabric + R"("overrides": [
                {"node": 0, "between": ["gpu0", "gpu1"], "link": {"latency_us": 4}}])")),
              ElementsAre("c.json#/overrides/0/between: got gpu0 and gpu1, which no link of node 0 "
                          "joins"));
  EXPECT_THAT(faults_of(vectors(2, R"("fabric": {"kind": "single_switch"},
                "overrides": [{"node": 0, "link": {"bandwidth_gbit_per_s": 1}}])")),
              ElementsAre("c.json#/overrides/0: changes a port, but the fabric states none (give "
                          "fabric/link, or \"between\")"));
}

TEST(RejectCluster, a_source_that_is_not_declared) {
  EXPECT_THAT(faults_of(vectors(1, R"("sources": {"study": {"title": "t", "certainty": "stated"}},
                "fabric": {"kind": "none", "source": "studie"})")),
              ElementsAre("c.json#/fabric/source: got \"studie\", which is not declared in "
                          "`sources`; did you mean \"study\"?"));
  EXPECT_THAT(faults_of(vectors(1, R"("sources": {"study": {"title": "t", "certainty": "sure"}},
                "fabric": {"kind": "none"})")),
              ElementsAre(StartsWith("c.json#/sources/study/certainty: got \"sure\"")));
}

TEST(RejectCluster, an_unknown_key_and_a_wrong_schema) {
  EXPECT_THAT(faults_of(R"({"schema": "paceline/cluster/2", "id": "c", "name": "c",
                "nodes": [{"node": "vector_node"}], "fabrik": {}})"),
              ElementsAre("c.json#/schema: got \"paceline/cluster/2\" (must be "
                          "\"paceline/cluster/1\")",
                          "c.json#/fabrik: unknown key, did you mean \"fabric\"?"));
  EXPECT_THAT(faults_of("[]"), ElementsAre("c.json: got a list of 0 (must be an object)"));
}

TEST(RejectCpuCluster, a_device_that_is_not_described) {
  EXPECT_THAT(faults_of(cpu_cluster(good_device, good_exchange, "that_cpu")),
              ElementsAre("c.json#/nodes/0/devices/0/cpu_device: got \"that_cpu\", which is not in "
                          "the cluster's `cpu_devices`; did you mean \"this_cpu\"?"));
}

TEST(RejectCpuCluster, numbers_out_of_range) {
  EXPECT_THAT(
      faults_of(cpu_cluster(R"("threads": 0, "memory_gib": 0, "levels": [])", good_exchange)),
      ElementsAre("c.json#/cpu_devices/this_cpu/threads: got 0 (must be >= 1)",
                  "c.json#/cpu_devices/this_cpu/memory_gib: got 0 (must be > 0.0)"));
}

TEST(RejectCpuCluster, levels_that_do_not_rise_and_a_negative_coefficient) {
  const std::string level =
      R"({"active_ranks": 2, "reference_gflop_per_s": 40, "kernels": {"matmul":
         {"us_per_feature": {"flops": 1e-6}, "residual": 0.1, "rows": 3}}})";
  EXPECT_THAT(faults_of(cpu_cluster(
                  R"("threads": 1, "memory_gib": 8, "levels": [)" + level + "," + level + "]",
                  good_exchange)),
              ElementsAre("c.json#/cpu_devices/this_cpu/levels/1/active_ranks: got 2 after 2 (must "
                          "rise)"));
  EXPECT_THAT(faults_of(cpu_cluster(
                  R"("threads": 1, "memory_gib": 8, "levels": [{"active_ranks": 1,
                     "reference_gflop_per_s": -1, "kernels": {"matmul":
                     {"us_per_feature": {"flops": -1e-6}, "residual": 0, "rows": 3}}}])",
                  good_exchange)),
              ElementsAre("c.json#/cpu_devices/this_cpu/levels/0/reference_gflop_per_s: got -1 "
                          "(must be > 0.0)",
                          "c.json#/cpu_devices/this_cpu/levels/0/kernels/matmul/us_per_feature/"
                          "flops: got -1e-06 (must be >= 0.0)"));
}

TEST(RejectCpuCluster, tables_that_do_not_rise_or_hold_no_size) {
  EXPECT_THAT(faults_of(cpu_cluster(good_device, R"({"between": "all_cpu_ranks",
                "kind": "shared_memory", "measured": [{"bytes": 8, "time_us": 1},
                {"bytes": 8, "time_us": 2}]})")),
              ElementsAre("c.json#/nodes/0/links/0/measured/1/bytes: got 8 after 8 (sizes must "
                          "rise)"));
  EXPECT_THAT(faults_of(cpu_cluster(good_device, R"({"between": "all_cpu_ranks",
                "kind": "shared_memory", "measured": [{"bytes": 0, "time_us": 0}]})")),
              ElementsAre("c.json#/nodes/0/links/0/measured/0/bytes: got 0 (must be >= 1)",
                          "c.json#/nodes/0/links/0/measured/0/time_us: got 0 (must be > 0.0)"));
}

TEST(RejectCpuCluster, pairs_of_ranks_where_there_are_none) {
  EXPECT_THAT(
      faults_of(with_links(good_exchange)),
      ElementsAre("c.json#/nodes/0/links/0/between: got \"all_cpu_ranks\", but the node has "
                  "0 devices of kind cpu_rank (must have 2 or more)"));
  EXPECT_THAT(faults_of(with_links(R"({"between": "all", "kind": "pcie",
                "bandwidth_gb_per_s": 1})")),
              ElementsAre("c.json#/nodes/0/links/0/between: got \"all\" (must be a list of two "
                          "devices, or \"all_cpu_ranks\")"));
}

/// Equal inline nodes of many CPU ranks, joined in pairs.
std::string crowd(int ranks, int nodes) {
  std::string devices;
  for (int rank = 0; rank < ranks; ++rank) {
    devices += (rank == 0 ? "" : ", ") + std::string(R"({"id": "rank)") + std::to_string(rank) +
               R"(", "kind": "cpu_rank", "cpu_device": "this_cpu"})";
  }
  return cluster_text(R"("nodes": [{"count": )" + std::to_string(nodes) + R"(, "devices": [)" +
                      devices + R"(], "links": [)" + good_exchange +
                      R"(]}], "fabric": {"kind": "single_switch"}, "cpu_devices": {"this_cpu":
                      {"name": "n", "host_issue_us": 0, "reduction_us_per_call": 0,
                       "reduction_us_per_byte": 0, )" +
                      good_device + "}}");
}

TEST(RejectCpuCluster, pairs_that_are_joined_twice) {
  EXPECT_THAT(faults_of(cpu_cluster(good_device, std::string(good_exchange) + "," + good_exchange)),
              ElementsAre("c.json#/nodes/0/links/1/between: got \"all_cpu_ranks\" a second time "
                          "(once a node)"));
}

TEST(RejectCpuCluster, more_pairs_than_fit) {
  EXPECT_THAT(faults_of(crowd(2049, 1)),
              ElementsAre("c.json#/nodes/0/links/0/between: joins 2049 ranks in pairs (at most "
                          "2048)"));
  // 40 nodes of 1000 · 999 / 2 links.
  EXPECT_THAT(faults_of(crowd(1000, 40)),
              ElementsAre("c.json#/nodes: hold more links and measured points than fit (at most "
                          "16777216)"));
}

TEST(RejectCpuCluster, ranks_that_no_link_joins) {
  EXPECT_THAT(faults_of(cpu_cluster(good_device, "")),
              ElementsAre("c.json#/nodes/0/devices/1: no way from node0/rank1 to node0/rank0 (give "
                          "the links that join them)"));
}

std::string find_message(const std::string& reference) {
  try {
    (void)find_cluster(reference, "");
  } catch (const core::ConfigError& error) {
    return error.what();
  }
  return "found";
}

TEST(RejectReference, an_unknown_cluster_names_the_folders_and_the_nearest) {
  EXPECT_THAT(find_message("vectors"), StartsWith("no cluster \"vectors\" (searched "));
  EXPECT_THAT(find_message("vectors"), HasSubstr("hardware_profiles/clusters"));
  EXPECT_THAT(find_message("vectors"), HasSubstr("did you mean \"vector\"?"));
}

TEST(RejectReference, this_machine_without_a_profile_has_slots_and_no_times) {
  if (find_profile("clusters", "this_machine", "")) GTEST_SKIP() << "this machine has a profile";
  const Cluster cluster = find_cluster("this_machine", "");
  EXPECT_FALSE(cluster.slots.empty());
  std::string message;
  try {
    (void)cluster.device_of(0);
  } catch (const core::ConfigError& error) {
    message = error.what();
  }
  EXPECT_THAT(message, HasSubstr("is not calibrated"));
  EXPECT_THAT(message, HasSubstr("mpirun -n 2 paceline-rt calibrate --out m.json; paceline "
                                 "make-profile m.json --out "
                                 "~/.local/share/paceline/clusters/this_machine.json"));
}

TEST(RejectReference, a_path_without_a_file) {
  EXPECT_THAT(find_message("/nowhere/c.json"), HasSubstr("/nowhere/c.json: no such file"));
  EXPECT_THAT(find_message("nowhere.json"), HasSubstr("nowhere.json: no such file"));
}

TEST(RejectRank, a_slot_that_is_missing_or_of_the_other_kind) {
  const Cluster tesla = find_cluster("tesla", "");
  const auto message = [](auto&& ask) -> std::string {
    try {
      (void)ask();
    } catch (const core::ConfigError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message([&] { return tesla.device_of(0); }),
              HasSubstr("the slot of rank 0 is no CPU slot but a rtx3070"));
  EXPECT_THAT(message([&] { return tesla.gpu_of(5); }),
              HasSubstr("has no slot for rank 5 (it has 5 slots)"));
  EXPECT_THAT(message([&] { return tesla.gpu_of(-1); }), HasSubstr("has no slot for rank -1"));
}

TEST(RejectGpus, cards_that_no_usual_node_can_hold) {
  const auto message = [](const std::vector<std::string>& cards) -> std::string {
    try {
      (void)cluster_of_gpus(cards, "");
    } catch (const core::ConfigError& error) {
      return error.what();
    }
    return "built";
  };
  EXPECT_THAT(message(std::vector<std::string>(9, "h200")),
              StartsWith("9 cards h200: their usual node \"hgx_h200\" holds 8"));
  EXPECT_THAT(message({"p100_sxm2_16gb", "p100_sxm2_16gb"}),
              HasSubstr("no node is usual for them"));
  EXPECT_THAT(message(std::vector<std::string>(5, "rtx3090")), HasSubstr("which has 4 slots"));
  EXPECT_THAT(message({"h200", "t4"}), HasSubstr("h200 is soldered to its board"));
  EXPECT_THAT(message({"rtx3091", "a100"}), HasSubstr("rtx3091"));
  EXPECT_THAT(message({"rtx3091", "a100"}), HasSubstr("fits several cards"));
  EXPECT_THAT(message({}), HasSubstr("a cluster without cards"));
}

/// Files of their own, read from a folder that goes away with the test.
class RejectFile : public testing::Test {
 protected:
  RejectFile()
      : folder_(std::filesystem::temp_directory_path() /
                ("paceline-reject-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_ / "gpus");
    std::filesystem::create_directories(folder_ / "nodes");
  }
  ~RejectFile() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  std::filesystem::path folder_;
};

std::string gpu_text(const std::string& id, const std::string& memory) {
  const auto value = [](const char* number) {
    return R"({"value": )" + std::string(number) + R"(, "source": "s"})";
  };
  return R"({"schema": "paceline/gpu/1", "id": ")" + id + R"(", "name": "x",
    "architecture": "ada", "compute_capability": "8.9", "form_factor": "pcie",
    "sources": {"s": {"title": "t", "certainty": "stated"}}, "memory_gib": )" +
         memory + R"(, "memory_bandwidth_gb_per_s": )" + value("1") +
         R"(, "streaming_multiprocessors": )" + value("1") + R"(, "boost_clock_mhz": )" +
         value("1") + R"(, "dense_peak_tflop_per_s": {}, "l2_cache_mib": )" + value("1") +
         R"(, "pcie": {"generation": 4, "lanes": 16, "source": "s"},
         "peer_to_peer_over_pcie": )" +
         value("true") + R"(, "board_power_w": )" + value("1") + "}";
}

TEST_F(RejectFile, gpus_with_faults_are_all_named) {
  write("gpus/x.json", gpu_text("y", R"({"value": 0, "source": "s"})"));
  write("gpus/z.json", gpu_text("z", R"({"value": 8, "source": "r"})"));
  try {
    (void)find_gpu("t4", folder_.string());
    FAIL();
  } catch (const core::ConfigError& error) {
    EXPECT_THAT(faults_of(error),
                ElementsAre(HasSubstr("gpus/x.json#/memory_gib/value: got 0 (must be > 0.0)"),
                            HasSubstr("gpus/x.json#/id: got \"y\" (must be the file's name, "
                                      "\"x\")"),
                            HasSubstr("gpus/z.json#/memory_gib/source: got \"r\", which is not "
                                      "declared in `sources`")));
  }
}

TEST_F(RejectFile, a_gpu_with_an_unknown_type_and_a_strange_capability) {
  std::string text = gpu_text("x", R"({"value": 8, "source": "s"})");
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("\"8.9\"", "89");
  replace("\"dense_peak_tflop_per_s\": {}",
          R"("dense_peak_tflop_per_s": {"float16": {"value": 1, "source": "s"}})");
  try {
    (void)read_gpu(write("gpus/x.json", text));
    FAIL();
  } catch (const core::ConfigError& error) {
    EXPECT_THAT(faults_of(error),
                ElementsAre(HasSubstr("#/compute_capability: got 89 (must be a text like \"8.6\")"),
                            HasSubstr("#/dense_peak_tflop_per_s/float16: unknown key")));
  }
}

TEST_F(RejectFile, a_node_file_is_named_with_the_place_of_its_fault) {
  write("nodes/n.json", R"({"schema": "paceline/node/1", "id": "n", "name": "n",
    "sources": {"s": {"title": "t", "certainty": "stated"}},
    "devices": [{"id": "gpu0", "kind": "gpu", "gpu": "t5"}, {"id": "cpu0", "kind": "cpu",
                 "source": "q"}],
    "links": []})");
  const std::string text = cluster_text(R"("nodes": [{"node": "n"}, {"node": "n"}],
    "fabric": {"kind": "single_switch"})");
  const auto faults = faults_of(text, folder_.string());
  ASSERT_EQ(faults.size(), 1U);  // once, though two groups use it
  EXPECT_THAT(faults[0], HasSubstr("nodes/n.json#/devices/1/source: got \"q\""));
}

TEST_F(RejectFile, an_ambiguous_name_that_means_no_file) {
  write("gpus/ambiguous_names.json",
        R"({"schema": "paceline/ambiguous_names/1", "names": {"t": ["t4", "t5"]}})");
  try {
    (void)find_gpu("t4", folder_.string());
    FAIL();
  } catch (const core::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("ambiguous_names.json#/names/t/1: got \"t5\", which is the "
                                        "id of no gpu file"));
  }
}

TEST_F(RejectFile, a_list_names_files_that_cannot_be_read) {
  write("gpus/broken.json", "{");
  write("gpus/nothing.json", "{}");
  int broken = 0;
  for (const ProfileEntry& entry : list_gpus(folder_.string())) {
    if (entry.problem.empty()) continue;
    ++broken;
    EXPECT_THAT(entry.problem, entry.id == "broken" ? HasSubstr("not valid JSON")
                                                    : HasSubstr("\"schema\" is missing"));
  }
  EXPECT_EQ(broken, 2);
}

}  // namespace
}  // namespace paceline::hardware_profiles
