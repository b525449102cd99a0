#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/vocabulary.hpp"

/// Constants that NCCL publishes and plans with (github.com/NVIDIA/nccl, v2.28: src/graph/tuning.cc
/// and src/graph/topo.h). None is fitted to a measurement of ours. Times in microseconds, rates in
/// GB/s (1e9).
namespace paceline::sim::nccl {

/// LL, LL128, Simple.
using PerProtocol = core::PerEnum<core::CollectiveProtocol, double>;

constexpr PerProtocol per_protocol(double ll, double ll128, double simple) {
  PerProtocol values;
  values[core::CollectiveProtocol::ll] = ll;
  values[core::CollectiveProtocol::ll128] = ll128;
  values[core::CollectiveProtocol::simple] = simple;
  return values;
}

// tuning.cc, baseLat: launch and first synchronisation.
inline constexpr PerProtocol tree_base_us = per_protocol(6.8, 14.0, 8.4);
inline constexpr PerProtocol ring_base_us = per_protocol(6.6, 14.0, 8.4);

/// tuning.cc, hwLat: one hop.
struct HopLatency {
  PerProtocol tree_us;
  PerProtocol ring_us;
};
inline constexpr HopLatency nvlink_hop{per_protocol(.6, 1.25, 4.0), per_protocol(.6, 1.9, 3.4)};
inline constexpr HopLatency pcie_hop{per_protocol(1.0, 1.9, 4.0), per_protocol(1.0, 2.5, 5.7)};
inline constexpr HopLatency network_hop{per_protocol(5.0, 8.5, 14.0), per_protocol(2.7, 4.0, 14.0)};
// hwLat of NVLS and NVLSTree (Simple only): in the node, and between nodes.
inline constexpr double nvls_us = 25.0;
inline constexpr double nvls_tree_network_us = 20.9;

/// What a proxy thread takes to post one network message (tuning.cc, getNetOverhead: an Intel host;
/// an AMD host takes twice as long); three times as long for Simple.
inline constexpr double network_post_us = 1.0;

enum class Generation : std::uint8_t { volta, ampere, hopper, blackwell };
[[nodiscard]] constexpr Generation generation_of(int compute_capability) {
  if (compute_capability >= 100) return Generation::blackwell;
  if (compute_capability >= 90) return Generation::hopper;
  if (compute_capability >= 80) return Generation::ampere;
  return Generation::volta;
}

/// One, two, and more nodes.
using ByNodes = std::array<double, 3>;
using Table = std::array<ByNodes, 4>;  // by generation
[[nodiscard]] constexpr double entry(const Table& table, Generation generation, int nodes) {
  return table.at(static_cast<std::size_t>(generation))
      .at(static_cast<std::size_t>(std::clamp(nodes, 1, 3) - 1));
}
// tuning.cc, llMaxBws: by GPU in one node, by host between nodes (an Intel host here).
inline constexpr Table ll_most_gb_per_s{
    {{39.0, 39.0, 20.4}, {87.7, 39.0, 20.4}, {141.0, 39.0, 20.4}, {282.0, 39.0, 20.4}}};
// tuning.cc, perChMaxRingLL128Bws, perChMaxTreeLL128Bws, perChMaxTreeBws: of one channel.
inline constexpr Table ring_ll128_channel_gb_per_s{
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {40.0, 40.0, 40.0}}};
inline constexpr Table tree_ll128_channel_gb_per_s{
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}};
inline constexpr Table tree_channel_gb_per_s{
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}};

// tuning.cc: payload of the link rate.
inline constexpr double ring_ll_efficiency = 0.5;
inline constexpr double ring_ll128_efficiency = 0.92;
inline constexpr double tree_efficiency = 0.92;
inline constexpr double tree_ll_efficiency = 1.0 / 3.8;
inline constexpr double tree_ll128_efficiency_one_node = 7.0 / 9.0;
inline constexpr double tree_ll128_efficiency = 120.0 / 128.0;
// tuning.cc, nvlsEfficiency; 0: the generation has no NVLS.
inline constexpr std::array<double, 4> nvls_efficiency{0.0, 0.0, 0.85, 0.74};

/// tuning.cc, treeCorrectionFactor: what is left of the tree's rate at 64 B · 2^i.
using Correction = std::array<double, 23>;
inline constexpr std::array<Correction, 3> tree_correction{
    Correction{1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7,  .7,  .7,  .6, .5,
               .4,  .4,  .5,  .6,  .7, .8, .9, 1.0, 1.0, 1.0, 1.0},
    Correction{1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7,  .6, .6,
               .6,  .6,  .6,  .6,  .8,  .9, .9, .9, .9, 1.0, 1.0},
    Correction{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
               .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

// tuning.cc, "plateau effect of ring": latency of an all-reduce by ring and Simple between nodes,
// from 64 bytes a channel and rank.
inline constexpr double ring_plateau = 1.4;
inline constexpr double ring_plateau_before_ampere = 1.9;

/// topo.h: what a link carries, as a share of its line rate: NVLink 18 of 20 GB/s (Pascal), 20 of
/// 25 (Volta, Ampere), 20.6 of 25 (Hopper), 40.1 of 50 (Blackwell), 12 of 14.0625 (bridges of
/// compute capability 8.6); PCI Express 12 of 15.75 (3.0, 16 lanes); network 12 of 12.5 (100
/// Gbit/s). Rates between sockets stand in the node files as NCCL plans them.
[[nodiscard]] constexpr double nvlink_payload(int compute_capability) {
  if (compute_capability >= 100) return 40.1 / 50.0;
  if (compute_capability >= 90) return 20.6 / 25.0;
  if (compute_capability == 86) return 12.0 / 14.0625;
  if (compute_capability >= 70) return 20.0 / 25.0;
  return 18.0 / 20.0;
}
/// One NVLink's planned rate.
[[nodiscard]] constexpr double nvlink_gb_per_s(int compute_capability) {
  if (compute_capability >= 100) return 40.1;
  if (compute_capability >= 90) return 20.6;
  if (compute_capability == 86) return 12.0;
  if (compute_capability >= 70) return 20.0;
  return 18.0;
}
inline constexpr double pcie_payload = 12.0 / 15.75;
inline constexpr double network_payload = 12.0 / 12.5;

/// channels: at most (device.h, MAXCHANNELS).
inline constexpr int most_channels = 32;
/// Up to here a send of the pairwise exchange uses LL (NCCL_P2P_LL_THRESHOLD).
inline constexpr std::int64_t pairwise_ll_bytes = 16384;

}  // namespace paceline::sim::nccl
