#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/rates.hpp"
#include "models/schedules/schedule.hpp"
#include "sim/network/traffic_simulation.hpp"

namespace paceline::sim {
namespace {

using core::CollectiveAlgorithm;
using core::CollectiveKind;
using core::Time;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  /// In [least, most].
  std::int64_t roll(std::int64_t least, std::int64_t most) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return least + static_cast<std::int64_t>(state_ % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  std::uint64_t state_;
};

/// Ranks in racks of `per_leaf` behind leaves, `spines` above them; ways take a spine by their
/// ends.
struct LeafSpine {
  int ranks = 8, per_leaf = 4, spines = 1;
  core::ByteRate port = core::gb_per_s(10), uplink = core::gb_per_s(10);
  Time cable = Time::from_ps(300'000);

  [[nodiscard]] TrafficNetwork network() const {
    TrafficNetwork made;
    const int leaves = (ranks + per_leaf - 1) / per_leaf;
    for (int i = 0; i < 2 * ranks; ++i) made.capacity.push_back(port);
    for (int i = 0; i < 2 * leaves * spines; ++i) made.capacity.push_back(uplink);
    made.way = [*this](int from, int to) {
      TrafficNetwork::Way way;
      const auto id = [](int link) { return static_cast<std::uint32_t>(link); };
      way.links = {id(2 * from), id(2 * to + 1)};
      way.latency = cable * 2;
      const int a = from / per_leaf;
      const int b = to / per_leaf;
      if (a != b) {
        const int spine = (from + to) % spines;
        way.links.push_back(id(2 * ranks + 2 * (a * spines + spine)));
        way.links.push_back(id(2 * ranks + 2 * (b * spines + spine) + 1));
        way.latency = cable * 4;
      }
      return way;
    };
    return made;
  }
};

Traffic::Collective random_collective(Dice& dice, std::uint32_t communicator, int members) {
  Traffic::Collective collective;
  collective.communicator = communicator;
  collective.bytes = core::Bytes(dice.roll(0, 60) == 0 ? 0 : dice.roll(1, 4'000'000));
  switch (dice.roll(0, 7)) {
    case 0:
      collective.kind = CollectiveKind::all_gather;
      break;
    case 1:
      collective.kind = CollectiveKind::reduce_scatter;
      break;
    case 2:
      collective.kind = CollectiveKind::broadcast;
      collective.chunks = static_cast<int>(dice.roll(1, 5));
      collective.algorithm =
          dice.roll(0, 1) == 0 ? CollectiveAlgorithm::ring : CollectiveAlgorithm::tree;
      break;
    case 3:
      collective.kind = CollectiveKind::all_to_all;
      collective.algorithm = CollectiveAlgorithm::pairwise;
      collective.bytes = core::Bytes(collective.bytes.value() / members * members);
      break;
    case 4:
      collective.algorithm = CollectiveAlgorithm::tree;
      collective.chunks = static_cast<int>(dice.roll(1, 5));
      break;
    case 5:
      collective.algorithm = CollectiveAlgorithm::recursive_halving_doubling;
      break;
    case 6:
      collective.algorithm = CollectiveAlgorithm::hierarchical;
      collective.group = members % 2 == 0 ? 2 : 1;
      break;
    default:
      break;
  }
  return collective;
}

/// A few communicators of some ranks each, in a common order, so that no rank waits in a circle.
struct Case {
  LeafSpine fabric;
  Traffic traffic;
};

Case random_case(std::uint64_t seed) {
  Dice dice(seed);
  Case made;
  made.fabric.ranks = static_cast<int>(dice.roll(2, 12));
  made.fabric.per_leaf = static_cast<int>(dice.roll(1, 5));
  made.fabric.spines = static_cast<int>(dice.roll(1, 3));
  made.fabric.port = core::gb_per_s(static_cast<double>(dice.roll(1, 40)));
  made.fabric.uplink = core::gb_per_s(static_cast<double>(dice.roll(1, 40)));
  made.fabric.cable = Time::from_ps(dice.roll(0, 3) == 0 ? 0 : dice.roll(1, 2'000'000));
  Traffic& traffic = made.traffic;
  traffic.ranks.resize(static_cast<std::size_t>(made.fabric.ranks));
  const auto communicators = static_cast<std::uint32_t>(dice.roll(1, 3));
  for (std::uint32_t c = 0; c < communicators; ++c) {
    std::vector<int> members;
    for (int rank = 0; rank < made.fabric.ranks; ++rank) {
      if (dice.roll(0, 2) > 0) members.push_back(rank);
    }
    if (members.empty()) members.push_back(0);
    if (dice.roll(0, 1) == 0) std::reverse(members.begin(), members.end());
    traffic.communicators.push_back(members);
  }
  const auto collectives = static_cast<std::uint32_t>(dice.roll(1, 5));
  for (std::uint32_t i = 0; i < collectives; ++i) {
    const auto communicator = static_cast<std::uint32_t>(dice.roll(0, communicators - 1));
    const auto& members = traffic.communicators[communicator];
    traffic.collectives.push_back(
        random_collective(dice, communicator, static_cast<int>(members.size())));
    for (const int rank : members) {
      auto& operations = traffic.ranks[static_cast<std::size_t>(rank)];
      if (dice.roll(0, 2) == 0) {
        operations.push_back({Traffic::Do::compute, Time::from_ps(dice.roll(0, 900'000'000)), 0});
      }
      operations.push_back({Traffic::Do::issue, {}, i});
      if (dice.roll(0, 3) == 0) operations.push_back({Traffic::Do::wait, {}, i});
    }
  }
  return made;
}

std::int64_t bytes_of(const Traffic& traffic) {
  std::int64_t sum = 0;
  for (const auto& c : traffic.collectives) {
    sum += models::sent_elements(models::make_schedule(
        c.kind, c.algorithm, static_cast<int>(traffic.communicators[c.communicator].size()),
        c.bytes.value(), {.chunks = c.chunks, .group = c.group}));
  }
  return sum;
}

constexpr std::uint64_t cases = 2000;

template <class Property>
void for_each_case(Property property) {
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Case made = random_case(seed);
    property(made.fabric, made.traffic);
    if (testing::Test::HasFatalFailure() || testing::Test::HasNonfatalFailure()) return;
  }
}

TrafficResult run(const LeafSpine& fabric, const Traffic& traffic, Granularity granularity) {
  return simulate_traffic(fabric.network(), traffic, {granularity, Folding::off});
}

TEST(TrafficProperty, what_schedules_send_arrives) {
  for_each_case([](const LeafSpine& fabric, const Traffic& traffic) {
    const std::int64_t sent = bytes_of(traffic);
    ASSERT_EQ(run(fabric, traffic, Granularity::steps).bytes, sent);
    ASSERT_EQ(run(fabric, traffic, Granularity::steady).bytes, sent);
  });
}

TEST(TrafficProperty, equal_runs_have_equal_event_logs) {
  for_each_case([](const LeafSpine& fabric, const Traffic& traffic) {
    for (const auto granularity : {Granularity::steps, Granularity::steady}) {
      const auto a = run(fabric, traffic, granularity);
      const auto b = run(fabric, traffic, granularity);
      ASSERT_EQ(a.event_log_hash, b.event_log_hash);
      ASSERT_EQ(a.rank_end, b.rank_end);
    }
  });
}

// No link carries more than its capacity: the run is at least as long as the busiest port's bytes.
TEST(TrafficProperty, nothing_is_faster_than_the_busiest_port) {
  for_each_case([](const LeafSpine& fabric, const Traffic& traffic) {
    std::vector<std::int64_t> sent(traffic.ranks.size(), 0);
    for (const auto& c : traffic.collectives) {
      const auto& ranks = traffic.communicators[c.communicator];
      const auto schedule =
          models::make_schedule(c.kind, c.algorithm, static_cast<int>(ranks.size()),
                                c.bytes.value(), {.chunks = c.chunks, .group = c.group});
      for (std::size_t m = 0; m < ranks.size(); ++m) {
        for (const auto& step : schedule.members[m]) {
          sent[static_cast<std::size_t>(ranks[m])] += step.send_elements;
        }
      }
    }
    const Time least =
        core::transfer_time(core::Bytes(*std::max_element(sent.begin(), sent.end())), fabric.port);
    // Each flow's end is rounded up, never down.
    ASSERT_GE(run(fabric, traffic, Granularity::steps).end + Time::from_ps(1), least);
    ASSERT_GE(run(fabric, traffic, Granularity::steady).end + Time::from_ps(1), least);
  });
}

// In a ring alone on a star every cable carries one flow at a time, so that nothing a faster cable
// brings forward takes a share from something else. (By halving, a member that hurries ahead takes
// half of a port from one that is late: there a faster cable may cost time.)
TEST(TrafficProperty, a_faster_cable_never_slows_a_ring) {
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Dice dice(seed);
    const auto ranks = static_cast<int>(dice.roll(2, 12));
    TrafficNetwork network =
        star_network(ranks, core::gb_per_s(10), Time::from_ps(dice.roll(0, 2'000'000)));
    for (auto& rate : network.capacity) rate = core::gb_per_s(static_cast<double>(dice.roll(1, 9)));
    const CollectiveKind kinds[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                    CollectiveKind::all_gather};
    Traffic traffic;
    traffic.communicators.resize(1);
    for (int i = 0; i < ranks; ++i) traffic.communicators[0].push_back(i);
    traffic.collectives = {{0, kinds[dice.roll(0, 2)], CollectiveAlgorithm::ring,
                            core::Bytes(dice.roll(1, 4'000'000))}};
    traffic.ranks.assign(static_cast<std::size_t>(ranks), {{Traffic::Do::issue, {}, 0}});
    TrafficNetwork faster = network;
    auto& rate = faster.capacity[static_cast<std::size_t>(dice.roll(0, 2 * ranks - 1))];
    rate = core::ByteRate(rate.value() * 3);
    for (const auto granularity : {Granularity::steps, Granularity::steady}) {
      ASSERT_LE(simulate_traffic(faster, traffic, {granularity, Folding::off}).end,
                simulate_traffic(network, traffic, {granularity, Folding::off}).end);
    }
  }
}

// Equal ranks with equal cables: one stands for all, to the picosecond.
TEST(TrafficProperty, folded_equals_unfolded) {
  int folded = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Dice dice(seed);
    const auto ranks = static_cast<int>(dice.roll(1, 17));
    TrafficNetwork network =
        star_network(ranks, core::gb_per_s(static_cast<double>(dice.roll(1, 99)) / 3),
                     Time::from_ps(dice.roll(0, 2'000'000)));
    const bool unequal = dice.roll(0, 9) == 0;
    if (unequal) network.capacity[0] = core::gb_per_s(0.25);
    Traffic traffic;
    traffic.communicators.resize(1);
    for (int i = 0; i < ranks; ++i) traffic.communicators[0].push_back(i);
    std::vector<Traffic::Operation> operations;
    const auto collectives = static_cast<std::uint32_t>(dice.roll(1, 4));
    for (std::uint32_t i = 0; i < collectives; ++i) {
      const CollectiveKind kinds[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                      CollectiveKind::all_gather};
      traffic.collectives.push_back({0, kinds[dice.roll(0, 2)], CollectiveAlgorithm::ring,
                                     core::Bytes(dice.roll(0, 400'000) * ranks)});
      operations.push_back({Traffic::Do::compute, Time::from_ps(dice.roll(0, 200'000'000)), 0});
      operations.push_back({Traffic::Do::issue, {}, i});
      if (dice.roll(0, 1) == 0) operations.push_back({Traffic::Do::wait, {}, i});
    }
    traffic.ranks.assign(static_cast<std::size_t>(ranks), operations);
    for (const auto granularity : {Granularity::steps, Granularity::steady}) {
      const auto one = simulate_traffic(network, traffic, {granularity, Folding::on});
      const auto all = simulate_traffic(network, traffic, {granularity, Folding::off});
      ASSERT_EQ(one.folded, ranks > 1 && !unequal);
      ASSERT_EQ(one.end, all.end);
      ASSERT_EQ(one.rank_end, all.rank_end);
      ASSERT_EQ(one.compute_end, all.compute_end);
      ASSERT_EQ(one.collective_end, all.collective_end);
      ASSERT_EQ(one.bytes, all.bytes);
      ASSERT_EQ(one.flows, all.flows);
      folded += one.folded ? 1 : 0;
    }
  }
  EXPECT_GT(folded, 2000);
}

// Several rings over an oversubscribed fabric, large enough that latency is no matter: the two
// granularities agree within 3 %.
TEST(TrafficProperty, granularities_agree_under_contention) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Dice dice(seed);
    LeafSpine fabric;
    fabric.per_leaf = static_cast<int>(dice.roll(2, 4));
    const auto leaves = static_cast<int>(dice.roll(2, 4));
    fabric.ranks = fabric.per_leaf * leaves;
    fabric.uplink = core::gb_per_s(static_cast<double>(dice.roll(2, 9)));
    fabric.cable = Time::from_ps(100'000);
    // Place k of every leaf forms a ring: all of them cross all uplinks.
    Traffic traffic;
    traffic.ranks.resize(static_cast<std::size_t>(fabric.ranks));
    for (int place = 0; place < fabric.per_leaf; ++place) {
      std::vector<int> members;
      for (int leaf = 0; leaf < leaves; ++leaf) members.push_back(leaf * fabric.per_leaf + place);
      traffic.communicators.push_back(members);
      traffic.collectives.push_back({static_cast<std::uint32_t>(place), CollectiveKind::all_reduce,
                                     CollectiveAlgorithm::ring,
                                     core::Bytes(dice.roll(20'000'000, 60'000'000))});
      for (const int rank : members) {
        traffic.ranks[static_cast<std::size_t>(rank)] = {
            {Traffic::Do::issue, {}, static_cast<std::uint32_t>(place)}};
      }
    }
    const double steps = run(fabric, traffic, Granularity::steps).end.us();
    const double steady = run(fabric, traffic, Granularity::steady).end.us();
    ASSERT_NEAR(steady / steps, 1, 0.03);
  }
}

}  // namespace
}  // namespace paceline::sim
