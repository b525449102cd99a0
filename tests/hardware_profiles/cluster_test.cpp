#include "hardware_profiles/cluster.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "core/rates.hpp"
#include "core/share_directory.hpp"

namespace paceline::hardware_profiles {
namespace {

using testing::HasSubstr;

/// An empty folder that goes away with the test.
class Folder {
 public:
  Folder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            ("paceline-" + std::to_string(::getpid()) + "-" + test->name());
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

CpuDevice small_cpu() {
  CpuDevice device;
  device.id = "this_cpu";
  device.name = "Two-core test machine";
  device.threads = 1;
  device.host_issue_us = 0.25;
  device.memory_gib = 7.5;
  device.reduction_us_per_call = 1.5;
  device.reduction_us_per_byte = 1.0 / 3.0;  // has no short decimal
  CpuLevel one{1, 42.5, {{"matmul", {{{"flops", 1e-5}, {"calls", 2}}, 0.03, 17}}}};
  CpuLevel two{2, 40.25, {{"matmul", {{{"flops", 1.5e-5}}, 0.05, 12}}}};
  device.levels = {one, two};
  return device;
}

const std::vector<ExchangePoint> exchanges{
    {core::Bytes(1 << 20), 400.0}, {core::Bytes(4), 2.5}, {core::Bytes(1024), 3.0}};

TEST(CpuCluster, what_is_written_is_read_again) {
  const Folder folder;
  folder.write("clusters/this_machine.json",
               cpu_cluster_text(small_cpu(), 2, exchanges, {{"host", "a"}, {"when", "today"}}));
  const Cluster cluster = find_cluster("this_machine", folder.path().string());
  EXPECT_EQ(cluster.id, "this_machine");
  EXPECT_EQ(cluster.name, "2 x Two-core test machine");
  EXPECT_EQ(cluster.origin, (folder.path() / "clusters/this_machine.json").string());
  EXPECT_EQ(cluster.provenance.at("host"), "a");
  ASSERT_EQ(cluster.slots.size(), 2U);
  EXPECT_EQ(cluster.vertices[cluster.slots[1].vertex.index()].name, "node0/rank1");
  EXPECT_EQ(cluster.vertices[cluster.slots[1].vertex.index()].kind, "cpu_rank");

  const CpuDevice& device = cluster.device_of(1);
  EXPECT_EQ(device.id, "this_cpu");
  EXPECT_EQ(device.name, "Two-core test machine");
  EXPECT_EQ(device.threads, 1);
  EXPECT_EQ(device.host_issue_us, 0.25);
  EXPECT_EQ(device.memory_gib, 7.5);
  EXPECT_EQ(device.reduction_us_per_byte, 1.0 / 3.0);
  ASSERT_EQ(device.levels.size(), 2U);
  EXPECT_EQ(device.levels[1].active_ranks, 2);
  EXPECT_EQ(device.levels[0].reference_gflop_per_s, 42.5);
  const KernelModel& matmul = device.levels[0].kernels.at("matmul");
  EXPECT_EQ(matmul.us_per_feature.at("calls"), 2.0);
  EXPECT_EQ(matmul.residual, 0.03);
  EXPECT_EQ(matmul.rows, 17);
}

TEST(CpuCluster, two_ranks_are_joined_by_one_link_with_the_table) {
  const Cluster cluster =
      read_cluster_text(cpu_cluster_text(small_cpu(), 2, exchanges, {}), "text", "");
  const auto way = cluster.route(cluster.slots[0].vertex, cluster.slots[1].vertex);
  ASSERT_EQ(way.size(), 1U);
  const Link& link = cluster.links[way[0].index()];
  EXPECT_EQ(link.kind, "shared_memory");
  ASSERT_EQ(link.measured.size(), 3U);  // by size, however they were given
  EXPECT_EQ(link.measured[0].bytes, core::Bytes(4));
  EXPECT_EQ(link.measured[2].time_us, 400.0);
  // No rate or latency in the file: those of the largest size (2^20 bytes in 400 us) and of the
  // shortest time.
  EXPECT_DOUBLE_EQ(link.bandwidth.value(), 1048576 / 400e-6);
  EXPECT_EQ(link.latency, core::Time::from_us(2.5));
  EXPECT_EQ(link.latency_certainty, Certainty::measured);
}

TEST(CpuCluster, each_two_of_four_ranks_are_joined) {
  const Cluster cluster =
      read_cluster_text(cpu_cluster_text(small_cpu(), 4, exchanges, {}), "text", "");
  EXPECT_EQ(cluster.slots.size(), 4U);
  EXPECT_EQ(cluster.links.size(), 6U);  // 4 · 3 / 2
  for (const Slot& a : cluster.slots) {
    for (const Slot& b : cluster.slots) {
      EXPECT_EQ(cluster.route(a.vertex, b.vertex).size(), a.vertex == b.vertex ? 0U : 1U);
    }
  }
}

TEST(CpuCluster, one_rank_needs_no_exchange) {
  const Cluster cluster = read_cluster_text(cpu_cluster_text(small_cpu(), 1, {}, {}), "text", "");
  EXPECT_EQ(cluster.slots.size(), 1U);
  EXPECT_TRUE(cluster.links.empty());
  EXPECT_THROW((void)cpu_cluster_text(small_cpu(), 2, {}, {}), core::ConfigError);
  EXPECT_THROW((void)cpu_cluster_text(small_cpu(), 0, {}, {}), core::ConfigError);
}

TEST(CpuCluster, active_ranks_are_those_of_the_node_below_the_world_size) {
  const Cluster cluster =
      read_cluster_text(cpu_cluster_text(small_cpu(), 4, exchanges, {}), "text", "");
  EXPECT_EQ(cluster.active_ranks_on_node(0, 3), 3);
  EXPECT_EQ(cluster.active_ranks_on_node(0, 4), 4);
  EXPECT_EQ(cluster.active_ranks_on_node(0, 9), 4);
  EXPECT_EQ(cluster.active_ranks_on_node(1, 4), 0);
}

TEST(ClusterHash, comments_blanks_order_and_provenance_do_not_count) {
  const std::string text = cpu_cluster_text(small_cpu(), 2, exchanges, {{"host", "a"}});
  const std::string hash = read_cluster_text(text, "a", "").hash;
  EXPECT_EQ(hash.size(), 16U);
  std::string other = "// a comment\n" + text + "\n\n";
  EXPECT_EQ(read_cluster_text(other, "b", "").hash, hash);
  EXPECT_EQ(
      read_cluster_text(cpu_cluster_text(small_cpu(), 2, exchanges, {{"host", "b"}}), "c", "").hash,
      hash);
  CpuDevice slower = small_cpu();
  slower.levels[0].reference_gflop_per_s = 42.4;
  EXPECT_NE(read_cluster_text(cpu_cluster_text(slower, 2, exchanges, {}), "d", "").hash, hash);
}

TEST(ClusterHash, a_changed_node_file_changes_it) {
  const Folder folder;
  const auto node = [&](const char* rate) {
    folder.write("nodes/pair.json", std::string(R"({"schema": "paceline/node/1", "id": "pair",
      "name": "p", "sources": {"s": {"title": "t", "certainty": "assumed"}},
      "devices": [{"id": "cpu0", "kind": "cpu"}, {"id": "gpu0", "kind": "gpu", "gpu": "t4"}],
      "links": [{"between": ["gpu0", "cpu0"], "kind": "pcie", "bandwidth_gb_per_s": )") +
                                        rate + R"(, "source": "s"}]})");
    return read_cluster_text(R"({"schema": "paceline/cluster/1", "id": "c", "name": "c",
      "nodes": [{"node": "pair"}]})",
                             "c", folder.path().string())
        .hash;
  };
  EXPECT_EQ(node("10"), node("10.0"));
  EXPECT_NE(node("10"), node("11"));
}

TEST(FindCluster, looks_in_the_clusters_folder_then_beside_it_and_takes_paths) {
  const Folder folder;
  const std::string text = cpu_cluster_text(small_cpu(), 1, {}, {});
  const auto beside = folder.write("lab.json", text);
  EXPECT_EQ(find_cluster("lab", folder.path().string()).origin, beside.string());
  const auto inside = folder.write("clusters/lab.json", text);
  EXPECT_EQ(find_cluster("lab", folder.path().string()).origin, inside.string());
  EXPECT_EQ(find_cluster("lab", folder.path().string()).id, "lab");
  EXPECT_EQ(find_cluster(beside.string(), "").origin, beside.string());
}

TEST(ShippedFiles, every_cluster_loads) {
  const auto listed = list_clusters();
  EXPECT_GE(listed.size(), 5U);
  for (const ProfileEntry& entry : listed) {
    EXPECT_EQ(entry.problem, "") << entry.path;
    EXPECT_FALSE(entry.name.empty()) << entry.path;
    const Cluster cluster = find_cluster(entry.path.string(), "");
    EXPECT_EQ(cluster.id, entry.id);
    EXPECT_FALSE(cluster.slots.empty());
  }
}

TEST(ShippedFiles, every_node_loads_and_its_devices_reach_each_other) {
  const auto listed = list_nodes();
  EXPECT_GE(listed.size(), 21U);
  for (const ProfileEntry& entry : listed) {
    const Node node = read_node(entry.path);
    EXPECT_EQ(node.id, entry.id);
    EXPECT_EQ(node.name, entry.name);
    std::string fill;  // cards for empty slots
    for (const NodeDevice& device : node.devices) {
      if (device.kind == DeviceKind::gpu && !device.gpu)
        fill += fill.empty() ? "\"t4\"" : ", \"t4\"";
    }
    const Cluster cluster = read_cluster_text(
        R"({"schema": "paceline/cluster/1", "id": "c", "name": "c", "nodes": [{"node": ")" +
            entry.id + "\"" + (fill.empty() ? "" : ", \"gpus\": [" + fill + "]") + "}]}",
        entry.id, "");
    for (std::size_t i = 1; i < cluster.vertices.size(); ++i) {
      EXPECT_FALSE(cluster.route(VertexId(0), VertexId(i)).empty()) << entry.id << " " << i;
    }
  }
}

TEST(ShippedFiles, tesla_has_five_cards_on_one_switch) {
  const Cluster tesla = find_cluster("tesla", "");
  ASSERT_EQ(tesla.slots.size(), 5U);
  EXPECT_EQ(tesla.slots[0].gpu, "rtx3070");
  EXPECT_EQ(tesla.slots[3].gpu, "tesla_p4");
  EXPECT_EQ(tesla.gpu_of(4).id, "gtx1070");
  EXPECT_EQ(tesla.slots[4].node, 4);
  // gpu0 – cpu0 – nic0 – switch – nic0 – cpu0 – gpu0.
  const auto way = tesla.route(tesla.slots[0].vertex, tesla.slots[4].vertex);
  ASSERT_EQ(way.size(), 6U);
  EXPECT_EQ(tesla.links[way[1].index()].bandwidth, core::gb_per_s(7.875));
  const Link& port = tesla.links[way[2].index()];
  EXPECT_EQ(port.bandwidth, core::gbit_per_s(10));
  // The 25 us of the file are a message from node to node: half at each of two ports.
  EXPECT_EQ(port.latency, core::Time::from_us(12.5));
  EXPECT_EQ(port.latency_certainty, Certainty::assumed);
}

TEST(ShippedFiles, vector_states_no_port_and_so_works_within_a_node_only) {
  const Cluster vector = find_cluster("vector", "");
  ASSERT_EQ(vector.slots.size(), 54U * 8U);
  EXPECT_EQ(vector.slots[8].node, 1);
  // gpu0 – cpu0 – cpu1 – gpu4.
  EXPECT_EQ(vector.route(vector.slots[0].vertex, vector.slots[4].vertex).size(), 3U);
  try {
    (void)vector.route(vector.slots[0].vertex, vector.slots[8].vertex);
    FAIL();
  } catch (const core::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("vector.json#/fabric: no way from node0/gpu0 to node1/gpu0 "
                                        "(give /fabric/link/bandwidth_gbit_per_s"));
  }
  // The study states that peer to peer does not work there, whatever the card can do.
  EXPECT_FALSE(vector.peer_to_peer_over_pcie(0));
  EXPECT_TRUE(vector.gpu_of(0).peer_to_peer_over_pcie.value);
  EXPECT_EQ(vector.node(3).memory_gib->value, 152);
  EXPECT_EQ(vector.node(3).memory_gib->certainty, Certainty::stated);
}

TEST(ShippedFiles, superpod_sends_on_the_rail_of_the_nearest_nic) {
  const Cluster pod = find_cluster("dgx_h100_superpod_32", "");
  ASSERT_EQ(pod.slots.size(), 256U);
  // gpu0 – pcie_switch0 – nic0 – leaf0 – nic0 – pcie_switch0 – gpu0.
  const auto way = pod.route(pod.slots[0].vertex, pod.slots[8].vertex);
  ASSERT_EQ(way.size(), 6U);
  const Link& port = pod.links[way[2].index()];
  EXPECT_EQ(pod.vertices[port.a.index()].name, "node0/nic0");
  EXPECT_EQ(pod.vertices[port.b.index()].name, "fabric/leaf0");
  EXPECT_EQ(port.bandwidth, core::gbit_per_s(400));
}

TEST(ClusterFile, an_override_slows_one_port_and_one_link) {
  const std::string text = R"({"schema": "paceline/cluster/1", "id": "c", "name": "c",
    "sources": {"seen": {"title": "measured by hand", "certainty": "measured"}},
    "nodes": [{"node": "vector_node", "count": 3}],
    "fabric": {"kind": "single_switch", "link": {"kind": "roce", "bandwidth_gbit_per_s": 100}},
    "overrides": [{"node": 1, "link": {"bandwidth_gbit_per_s": 0.94, "latency_us": 8},
                   "source": "seen"},
                  {"node": 2, "between": ["cpu0", "gpu1"], "link": {"bandwidth_gb_per_s": 3.9},
                   "source": "seen"}]})";
  const Cluster cluster = read_cluster_text(text, "c", "");
  const auto way = cluster.route(cluster.slots[0].vertex, cluster.slots[8].vertex);
  ASSERT_EQ(way.size(), 6U);  // gpu – cpu – nic – switch – nic – cpu – gpu
  const Link& usual = cluster.links[way[2].index()];
  const Link& slow = cluster.links[way[3].index()];
  EXPECT_EQ(usual.bandwidth, core::gbit_per_s(100));
  EXPECT_EQ(usual.latency, core::Time::from_us(2.5));  // RoCE: 5 us from node to node, assumed
  EXPECT_NEAR(slow.bandwidth.value(), 0.94e9 / 8, 1e-3);
  EXPECT_EQ(slow.latency, core::Time::from_us(4));
  const auto riser = cluster.route(cluster.slots[17].vertex, cluster.slots[16].vertex);
  EXPECT_EQ(cluster.links[riser[0].index()].bandwidth, core::gb_per_s(3.9));
  EXPECT_EQ(cluster.links[riser[0].index()].bandwidth_certainty, Certainty::measured);
  EXPECT_EQ(cluster.links[riser[1].index()].bandwidth, core::gb_per_s(15.75));
}

TEST(ClusterFile, a_card_slower_than_its_slot_sets_the_rate) {
  // rtx3070 has PCI Express 4.0 × 16 and sits in a 3.0 × 8 slot: the slot. gtx1080ti has
  // 3.0 × 16 in the same slot: the slot. On the 4.0 desktop the gtx1080ti's 3.0 sets the rate.
  const auto rate = [](const char* node, const char* card) {
    const Cluster cluster = read_cluster_text(
        R"({"schema": "paceline/cluster/1", "id": "c", "name": "c", "nodes": [{"node": ")" +
            std::string(node) + R"(", "gpus": [")" + card + R"("]}]})",
        "c", "");
    return cluster.links[0].bandwidth.value() / 1e9;
  };
  EXPECT_DOUBLE_EQ(rate("workstation", "rtx3070"), 7.875);
  EXPECT_DOUBLE_EQ(rate("workstation", "gtx1080ti"), 7.875);
  EXPECT_LE(rate("workstation_pcie4", "gtx1080ti"), 15.75);
  EXPECT_GT(rate("workstation_pcie4", "rtx3090"), 7.875);
}

TEST(ClusterOfGpus, cards_fill_the_slots_of_their_usual_node_in_order) {
  const Cluster cluster = cluster_of_gpus({"rtx3090", "GTX 1080 Ti"}, "");
  ASSERT_EQ(cluster.slots.size(), 2U);
  EXPECT_EQ(cluster.gpu_of(0).id, "rtx3090");
  EXPECT_EQ(cluster.gpu_of(1).id, "gtx1080ti");
  EXPECT_EQ(cluster.node(0).id, "workstation");
  EXPECT_EQ(cluster.route(cluster.slots[0].vertex, cluster.slots[1].vertex).size(), 2U);
}

TEST(ClusterOfGpus, fixed_cards_are_taken_from_the_first) {
  const Cluster cluster = cluster_of_gpus({"h200", "h200", "h200"}, "");
  ASSERT_EQ(cluster.slots.size(), 3U);
  // Through the NVSwitch: two links of 450 GB/s.
  const auto way = cluster.route(cluster.slots[0].vertex, cluster.slots[2].vertex);
  ASSERT_EQ(way.size(), 2U);
  EXPECT_EQ(cluster.links[way[0].index()].kind, "nvlink");
  EXPECT_EQ(cluster.links[way[0].index()].bandwidth, core::gb_per_s(450));
}

TEST(ClusterOfGpus, one_card_without_a_usual_node_hangs_on_one_cpu) {
  const Cluster cluster = cluster_of_gpus({"p100_sxm2_16gb"}, "");
  ASSERT_EQ(cluster.slots.size(), 1U);
  EXPECT_EQ(cluster.links.at(0).bandwidth, core::gb_per_s(15.75));
  EXPECT_THROW((void)cluster_of_gpus({"p100_sxm2_16gb", "p100_sxm2_16gb"}, ""), core::ConfigError);
}

TEST(ClusterFile, a_leaf_spine_fabric_goes_up_only_between_leaves) {
  const Cluster cluster = read_cluster_text(R"({"schema": "paceline/cluster/1", "id": "c",
    "name": "c", "nodes": [{"node": "vector_node", "count": 4}],
    "fabric": {"kind": "leaf_spine", "link": {"bandwidth_gbit_per_s": 25}, "nodes_per_leaf": 2,
               "spines": 2, "uplink": {"bandwidth_gbit_per_s": 100}}})",
                                            "c", "");
  // Two leaves; each meets both spines.
  const auto switches = std::count_if(cluster.vertices.begin(), cluster.vertices.end(),
                                      [](const Vertex& vertex) { return vertex.node < 0; });
  EXPECT_EQ(switches, 4);
  const auto way = [&](std::size_t a, std::size_t b) {
    return cluster.route(cluster.slots[a].vertex, cluster.slots[b].vertex).size();
  };
  EXPECT_EQ(way(0, 8), 6U);   // gpu – cpu – nic – leaf – nic – cpu – gpu
  EXPECT_EQ(way(0, 16), 8U);  // and up to a spine and down again
}

TEST(ClusterFile, a_drawn_fabric_joins_what_its_links_join) {
  // Two nodes on switch left, one on switch right, and a link between the switches.
  const Cluster cluster = read_cluster_text(R"({"schema": "paceline/cluster/1", "id": "c",
    "name": "c", "nodes": [{"node": "vector_node", "count": 3}],
    "fabric": {"kind": "graph", "switches": ["left", "right"], "links": [
      {"between": ["node0/nic0", "left"], "bandwidth_gbit_per_s": 25, "latency_us": 1},
      {"between": ["node1/nic0", "left"], "bandwidth_gbit_per_s": 25, "latency_us": 1},
      {"between": ["node2/nic0", "right"], "bandwidth_gbit_per_s": 25, "kind": "infiniband"},
      {"between": ["left", "right"], "bandwidth_gbit_per_s": 10, "latency_us": 1}]}})",
                                            "c", "");
  const auto way = cluster.route(cluster.slots[0].vertex, cluster.slots[16].vertex);
  ASSERT_EQ(way.size(), 7U);  // gpu – cpu – nic – left – right – nic – cpu – gpu
  EXPECT_EQ(cluster.links[way[3].index()].bandwidth, core::gbit_per_s(10));
  EXPECT_EQ(cluster.links[way[4].index()].latency, core::Time::from_us(1.25));  // half of 2.5
  EXPECT_EQ(cluster.route(cluster.slots[0].vertex, cluster.slots[8].vertex).size(), 6U);
}

TEST(Schemas, name_their_document) {
  EXPECT_THAT(cluster_schema(), HasSubstr("paceline/cluster/1"));
  EXPECT_THAT(node_schema(), HasSubstr("paceline/node/1"));
  EXPECT_THAT(gpu_schema(), HasSubstr("paceline/gpu/1"));
}

}  // namespace
}  // namespace paceline::hardware_profiles
