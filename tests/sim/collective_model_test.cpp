#include "sim/collectives/collective_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "core/error.hpp"
#include "core/rates.hpp"

namespace paceline::sim {
namespace {

using core::CollectiveAlgorithm;
using core::CollectiveKind;
using core::CollectiveProtocol;
using hardware_profiles::Cluster;

const std::string profiles = std::string(PACELINE_TEST_DIRECTORY) + "/../hardware_profiles";

Cluster cards(const std::string& gpu, int count) {
  return hardware_profiles::cluster_of_gpus(
      std::vector<std::string>(static_cast<std::size_t>(count), gpu), profiles);
}

Cluster nodes(const std::string& node, int count, const std::string& fabric) {
  return hardware_profiles::read_cluster_text(
      R"({"schema": "paceline/cluster/1", "id": "test", "name": "test", "nodes": [{"node": ")" +
          node + R"(", "count": )" + std::to_string(count) + R"(}], "fabric": )" + fabric + "}",
      "test.json", profiles);
}
const std::string switch_400g =
    R"({"kind": "single_switch", "link": {"bandwidth_gbit_per_s": 400, "kind": "infiniband"}})";

std::vector<int> all_ranks(const Cluster& cluster) {
  std::vector<int> ranks(cluster.slots.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

double gb_per_s(core::ByteRate rate) { return rate.value() / 1e9; }

std::string names(const Cluster& cluster, const Way& way) {
  std::string text;
  for (const DirectedLink id : way.links) {
    const auto& link = cluster.links[id / 2];
    const auto from = id % 2 == 0 ? link.a : link.b;
    const auto to = id % 2 == 0 ? link.b : link.a;
    if (text.empty()) text = cluster.vertices[from.index()].name;
    text += " " + cluster.vertices[to.index()].name;
  }
  return text;
}

// ---- Ways.

TEST(DeviceRoutes, nvlink_comes_before_pcie) {
  const Cluster cluster = cards("h100_sxm5", 8);
  const Way way = DeviceRoutes(cluster).way(0, 5);
  EXPECT_EQ(way.kind, WayKind::nvlink);
  EXPECT_EQ(names(cluster, way), "node0/gpu0 node0/nvswitch node0/gpu5");
}

// GPUs 0 and 5 of the hybrid cube have no NVLink in common, and data does not pass through a third.
TEST(DeviceRoutes, data_never_passes_through_a_third_gpu) {
  const Cluster cluster = cards("v100_sxm2_32gb", 8);
  const DeviceRoutes routes(cluster);
  EXPECT_EQ(routes.way(0, 4).kind, WayKind::nvlink);
  const Way way = routes.way(0, 5);
  EXPECT_EQ(way.kind, WayKind::pcie_peer);
  EXPECT_EQ(names(cluster, way).find("gpu4"), std::string::npos);
}

// Two cards behind one switch: with peer-to-peer over the switch, without up to the CPU and down.
TEST(DeviceRoutes, without_peer_to_peer_data_goes_through_host_memory) {
  const Cluster peers = cards("a100_pcie_40gb", 8);
  EXPECT_EQ(names(peers, DeviceRoutes(peers).way(0, 1)),
            "node0/gpu0 node0/pcie_switch0 node0/gpu1");
  Cluster strangers = cards("a100_pcie_40gb", 8);
  for (auto& [id, gpu] : strangers.gpus) gpu.peer_to_peer_over_pcie.value = false;
  const Way way = DeviceRoutes(strangers).way(0, 1);
  EXPECT_EQ(way.kind, WayKind::host_memory);
  EXPECT_EQ(names(strangers, way),
            "node0/gpu0 node0/pcie_switch0 node0/cpu0 node0/pcie_switch0 node0/gpu1");
}

TEST(DeviceRoutes, a_socket_crossing_is_seen) {
  const Cluster cluster = cards("a100_pcie_40gb", 8);
  EXPECT_EQ(names(cluster, DeviceRoutes(cluster).way(3, 4)),
            "node0/gpu3 node0/pcie_switch0 node0/cpu0 node0/cpu1 node0/pcie_switch1 node0/gpu4");
}

TEST(DeviceRoutes, between_nodes_data_leaves_by_the_nearest_nic) {
  const Cluster cluster = nodes("hgx_h100", 2, switch_400g);
  EXPECT_EQ(names(cluster, DeviceRoutes(cluster).way(2, 12)),
            "node0/gpu2 node0/pcie_switch1 node0/nic2 fabric/switch node1/nic4 node1/pcie_switch2 "
            "node1/gpu4");
}

// Two racks with two spines: the ways of different nodes take different spines.
TEST(DeviceRoutes, spines_are_taken_in_turn) {
  const Cluster cluster = nodes(
      "hgx_h100", 4,
      R"({"kind": "leaf_spine", "nodes_per_leaf": 2, "spines": 2, "link": {"bandwidth_gbit_per_s": 400}, "uplink": {"bandwidth_gbit_per_s": 400}})");
  const DeviceRoutes routes(cluster);
  std::set<std::string> spines;
  for (const int from : {0, 8}) {
    const std::string way = names(cluster, routes.way(from, from + 16));
    const auto found = way.find("fabric/spine");
    ASSERT_NE(found, std::string::npos) << way;
    spines.insert(way.substr(found, 13));
  }
  EXPECT_EQ(spines.size(), 2);
}

TEST(DeviceRoutes, refuses_ranks_without_a_way) {
  const Cluster cluster = cards("h100_sxm5", 2);
  EXPECT_THROW(static_cast<void>(DeviceRoutes(cluster).way(0, 2)), core::ConfigError);
  const Cluster apart = nodes("hgx_h100", 2, R"({"kind": "single_switch"})");
  try {
    static_cast<void>(DeviceRoutes(apart).way(0, 8));
    FAIL();
  } catch (const core::ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("no way from node0/gpu0 to node1/gpu0"));
  }
}

// ---- Hamiltonian cycles.

/// Sum over cycles and edges; every vertex once a cycle.
void expect_fits(const std::vector<std::vector<double>>& capacity,
                 const std::vector<std::vector<int>>& cycles, double rate) {
  std::vector<std::vector<double>> used(capacity.size(), std::vector<double>(capacity.size(), 0));
  for (const auto& cycle : cycles) {
    ASSERT_EQ(std::set<int>(cycle.begin(), cycle.end()).size(), capacity.size());
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      used[static_cast<std::size_t>(cycle[i])]
          [static_cast<std::size_t>(cycle[(i + 1) % cycle.size()])] += rate;
    }
  }
  for (std::size_t i = 0; i < capacity.size(); ++i) {
    for (std::size_t j = 0; j < capacity.size(); ++j) ASSERT_LE(used[i][j], capacity[i][j]);
  }
}

// Four GPUs, each pair with 100: 300 out of each. Three undirected cycles over edges of 50 use
// every edge twice; in both directions six rings of 50: all 300.
TEST(HamiltonianCycles, use_all_links_of_a_full_mesh) {
  std::vector<std::vector<double>> mesh(4, std::vector<double>(4, 100));
  for (std::size_t i = 0; i < 4; ++i) mesh[i][i] = 0;
  const auto cycles = hamiltonian_cycles(mesh);
  ASSERT_EQ(cycles.size(), 6);
  expect_fits(mesh, cycles, 50);
}

TEST(HamiltonianCycles, there_is_none_through_a_gpu_with_one_neighbour) {
  EXPECT_TRUE(hamiltonian_cycles({{0, 1, 1}, {1, 0, 0}, {1, 0, 0}}).empty());
  EXPECT_EQ(hamiltonian_cycles({{0, 5}, {5, 0}}).size(), 1);
}

// ---- What the links leave.

// An H100's NVLinks carry 450 GB/s, of which 20.6/25 is payload: 370.8; the ring loads each once.
TEST(GroupFabric, a_ring_behind_an_nvswitch_has_the_payload_of_the_nvlinks) {
  const Cluster cluster = cards("h100_sxm5", 8);
  const DeviceRoutes routes(cluster);
  EXPECT_NEAR(gb_per_s(GroupFabric(routes, all_ranks(cluster)).ring_rate().rate), 370.8, 1e-9);
}

// Six NVLinks of 25 · 0.8 = 20 GB/s: three cycles in both directions use them all: 120.
TEST(GroupFabric, the_hybrid_cube_has_six_rings) {
  const Cluster cluster = cards("v100_sxm2_32gb", 8);
  const DeviceRoutes routes(cluster);
  const GroupFabric fabric(routes, all_ranks(cluster));
  EXPECT_EQ(fabric.lanes().size(), 6);
  EXPECT_NEAR(gb_per_s(fabric.ring_rate().rate), 120, 1e-9);
}

// Without peer-to-peer four cards of a socket send up one link of 31.5 · 12/15.75 = 24 GB/s: the
// ring 0 → 1 → 2 → 3 → 4 puts four edges on it: 6 GB/s.
TEST(GroupFabric, host_memory_loads_the_link_to_the_cpu_with_every_edge) {
  Cluster cluster = cards("a100_pcie_40gb", 8);
  for (auto& [id, gpu] : cluster.gpus) gpu.peer_to_peer_over_pcie.value = false;
  const DeviceRoutes routes(cluster);
  EXPECT_NEAR(gb_per_s(GroupFabric(routes, all_ranks(cluster)).ring_rate().rate), 6, 1e-9);
}

// Eight NICs of 400 Gbit/s, 48 GB/s payload each: the ring's edges between nodes have all: 384,
// more than NVLink leaves with the edge that brings data to the GPU next to the NIC. One NIC next
// to one GPU a node: 2 NICs share its PCI Express of 63 · 0.762 = 48.
TEST(GroupFabric, a_ring_between_nodes_uses_every_nic) {
  const Cluster cluster = nodes("hgx_h100", 4, switch_400g);
  const DeviceRoutes routes(cluster);
  const GroupFabric all(routes, all_ranks(cluster));
  EXPECT_EQ(all.lanes().size(), 8);
  EXPECT_GT(gb_per_s(all.ring_rate().rate), 330);
  EXPECT_LE(gb_per_s(all.ring_rate().rate), 384 + 1e-6);
  const std::vector<int> one_each{0, 8, 16, 24};
  EXPECT_NEAR(gb_per_s(GroupFabric(routes, one_each).ring_rate().rate), 48, 1e-9);
}

// One node on a cable of 100 Gbit/s: 8 NICs of 12 GB/s: the whole ring at 96.
TEST(GroupFabric, a_slow_node_slows_the_ring) {
  const Cluster cluster = hardware_profiles::read_cluster_text(
      R"({"schema": "paceline/cluster/1", "id": "t", "name": "t",
          "nodes": [{"node": "hgx_h100", "count": 4}],
          "fabric": {"kind": "single_switch", "link": {"bandwidth_gbit_per_s": 400}},
          "overrides": [{"node": 2, "link": {"bandwidth_gbit_per_s": 100}}]})",
      "t.json", profiles);
  const DeviceRoutes routes(cluster);
  const auto bottleneck = GroupFabric(routes, all_ranks(cluster)).ring_rate();
  EXPECT_NEAR(gb_per_s(bottleneck.rate), 96, 1e-9);
  EXPECT_EQ(cluster.vertices[cluster.links[bottleneck.link / 2].a.index()].node, 2);
}

// Two nodes: each sends its half of the data up and down once: all of it in each direction of the
// NICs: 384 GB/s of data. More nodes: an inner node passes twice that.
TEST(GroupFabric, a_tree_of_two_nodes_sends_the_data_once) {
  const Cluster two = nodes("hgx_h100", 2, switch_400g);
  const DeviceRoutes routes_two(two);
  EXPECT_NEAR(gb_per_s(GroupFabric(routes_two, all_ranks(two)).tree_rate_between_nodes().rate), 384,
              1e-9);
  const Cluster eight = nodes("hgx_h100", 8, switch_400g);
  const DeviceRoutes routes_eight(eight);
  EXPECT_NEAR(gb_per_s(GroupFabric(routes_eight, all_ranks(eight)).tree_rate_between_nodes().rate),
              192, 1e-9);
}

// Each of 8 GPUs sends to 7 others at once over NVLinks of 370.8.
TEST(GroupFabric, a_pairwise_exchange_fills_the_nvlinks) {
  const Cluster cluster = cards("h100_sxm5", 8);
  const DeviceRoutes routes(cluster);
  EXPECT_NEAR(gb_per_s(GroupFabric(routes, all_ranks(cluster)).pairwise_rate().rate), 370.8, 1e-6);
}

// ---- The model.

// Ring, Simple, 8 H100: 8.4 + 14 · 3.4 us, then bytes over 370.8 · 8/14 GB/s.
TEST(CollectiveModel, a_ring_is_latency_and_bytes_over_rate) {
  const Cluster cluster = cards("h100_sxm5", 8);
  const CollectiveModel model(cluster, all_ranks(cluster));
  const core::Bytes bytes = core::mib(1024);
  const auto estimate = model.estimate(
      CollectiveKind::all_reduce, bytes,
      {.algorithm = CollectiveAlgorithm::ring, .protocol = CollectiveProtocol::simple});
  EXPECT_EQ(estimate.latency, core::Time::from_us(8.4 + 14 * 3.4));
  EXPECT_NEAR(gb_per_s(estimate.rate), 370.8 * 8 / 14, 1e-9);
  EXPECT_EQ(estimate.time, estimate.latency + core::transfer_time(bytes, estimate.rate));
}

// All-gather and reduce-scatter pass each slice n − 1 times: twice the rate of an all-reduce.
TEST(CollectiveModel, half_an_all_reduce_is_a_reduce_scatter) {
  const Cluster cluster = cards("a100_sxm4_80gb", 8);
  const CollectiveModel model(cluster, all_ranks(cluster));
  const CollectiveChoice simple{.algorithm = CollectiveAlgorithm::ring,
                                .protocol = CollectiveProtocol::simple};
  const auto whole = model.estimate(CollectiveKind::all_reduce, core::mib(64), simple);
  const auto half = model.estimate(CollectiveKind::reduce_scatter, core::mib(64), simple);
  EXPECT_NEAR(half.rate.value(), 2 * whole.rate.value(), 1);
}

TEST(CollectiveModel, small_ones_use_ll_and_large_ones_simple) {
  const Cluster cluster = cards("a100_sxm4_80gb", 8);
  const CollectiveModel model(cluster, all_ranks(cluster));
  EXPECT_EQ(model.estimate(CollectiveKind::all_reduce, core::Bytes(1024)).protocol,
            CollectiveProtocol::ll);
  EXPECT_EQ(model.estimate(CollectiveKind::all_reduce, core::mib(8)).protocol,
            CollectiveProtocol::ll128);
  EXPECT_EQ(model.estimate(CollectiveKind::all_reduce, core::mib(1024)).protocol,
            CollectiveProtocol::simple);
}

// The switch reads S and takes back S/n: B · 0.74 · n/(n + 1) of data, against B · n / 2(n − 1) by
// ring: NVLS is faster where 0.74 · 2(n − 1) > n + 1, from n = 6 on (7.4 > 7; 5.92 < 6 for 5).
TEST(CollectiveModel, nvls_wins_from_six_gpus_of_a_b200) {
  const Cluster cluster = cards("b200", 8);
  for (int n = 3; n <= 8; ++n) {
    std::vector<int> ranks(static_cast<std::size_t>(n));
    std::iota(ranks.begin(), ranks.end(), 0);
    const auto estimate =
        CollectiveModel(cluster, ranks).estimate(CollectiveKind::all_reduce, core::mib(8192));
    EXPECT_EQ(estimate.algorithm, n < 6 ? CollectiveAlgorithm::ring : CollectiveAlgorithm::nvls)
        << n;
  }
}

TEST(CollectiveModel, trees_serve_small_ones_of_many_nodes) {
  const Cluster cluster = nodes(
      "dgx_a100_40gb", 16,
      R"({"kind": "single_switch", "link": {"bandwidth_gbit_per_s": 200, "kind": "infiniband"}})");
  const CollectiveModel model(cluster, all_ranks(cluster));
  EXPECT_EQ(model.estimate(CollectiveKind::all_reduce, core::Bytes(65536)).algorithm,
            CollectiveAlgorithm::tree);
  EXPECT_EQ(model.estimate(CollectiveKind::all_gather, core::Bytes(65536)).algorithm,
            CollectiveAlgorithm::ring);
}

TEST(CollectiveModel, unequal_cards_have_no_ll128) {
  const Cluster cluster = hardware_profiles::cluster_of_gpus({"rtx3090", "rtx3060"}, profiles);
  const CollectiveModel model(cluster, all_ranks(cluster));
  EXPECT_THROW(
      static_cast<void>(model.estimate(CollectiveKind::all_reduce, core::mib(1),
                                       {.algorithm = {}, .protocol = CollectiveProtocol::ll128})),
      core::InvariantError);
}

TEST(CollectiveModel, a_point_to_point_has_two_ends) {
  const Cluster cluster = cards("h100_sxm5", 8);
  const std::vector<int> two{0, 1};
  const auto estimate =
      CollectiveModel(cluster, two).estimate(CollectiveKind::point_to_point, core::mib(64));
  EXPECT_EQ(estimate.algorithm, CollectiveAlgorithm::pairwise);
  EXPECT_NEAR(gb_per_s(estimate.rate), 370.8, 1e-6);
  EXPECT_THROW(static_cast<void>(CollectiveModel(cluster, all_ranks(cluster))
                                     .estimate(CollectiveKind::point_to_point, core::mib(1))),
               core::InvariantError);
}

TEST(CollectiveModel, one_member_takes_no_time) {
  const Cluster cluster = cards("h100_sxm5", 1);
  const std::vector<int> one{0};
  EXPECT_EQ(estimate_collective(cluster, one, CollectiveKind::all_reduce, core::mib(1)).time,
            core::Time{});
}

TEST(CollectiveModel, refuses_negative_bytes_and_no_ranks) {
  const Cluster cluster = cards("h100_sxm5", 2);
  const CollectiveModel model(cluster, all_ranks(cluster));
  EXPECT_THROW(static_cast<void>(model.estimate(CollectiveKind::all_reduce, core::Bytes(-1))),
               core::InvariantError);
  EXPECT_THROW(CollectiveModel(cluster, std::vector<int>{}), core::InvariantError);
}

// Between 1 MiB in 50 us and 4 MiB in 200 us lies, half way in log(bytes), 2 MiB in 100 us.
TEST(CollectiveModel, a_measured_table_of_the_same_group_takes_precedence) {
  const Cluster cluster = cards("h100_sxm5", 8);
  const MeasuredCollective table{
      CollectiveKind::all_reduce, "h100_sxm5", 1, 8, {{core::mib(1), 50}, {core::mib(4), 200}}};
  const std::vector<MeasuredCollective> tables{table};
  const CollectiveModel model(cluster, all_ranks(cluster), tables);
  const auto measured = model.estimate(CollectiveKind::all_reduce, core::mib(2));
  EXPECT_TRUE(measured.measured);
  EXPECT_NEAR(measured.time.us(), 100, 1e-6);
  EXPECT_FALSE(model.estimate(CollectiveKind::all_gather, core::mib(2)).measured);
  const std::vector<int> four{0, 1, 2, 3};
  EXPECT_FALSE(CollectiveModel(cluster, four, tables)
                   .estimate(CollectiveKind::all_reduce, core::mib(2))
                   .measured);
}

// More bytes never take less time, whatever is chosen.
TEST(CollectiveModel, time_grows_with_bytes) {
  for (const char* gpu : {"h100_sxm5", "a100_pcie_40gb", "v100_sxm2_32gb"}) {
    const Cluster cluster = cards(gpu, 8);
    const CollectiveModel model(cluster, all_ranks(cluster));
    for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
      core::Time before;
      for (std::int64_t bytes = 1; bytes < INT64_C(1) << 34; bytes *= 2) {
        const core::Time time = model.estimate(kind, core::Bytes(bytes)).time;
        // The pairwise exchange changes its protocol at a size, not by time.
        if (kind == CollectiveKind::all_gather) {
          ASSERT_GE(time, before) << gpu << " " << bytes;
        }
        before = time;
      }
    }
  }
}

}  // namespace
}  // namespace paceline::sim
