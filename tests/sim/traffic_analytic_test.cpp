#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "core/error.hpp"
#include "core/rates.hpp"
#include "models/schedules/double_tree.hpp"
#include "sim/network/compiled_schedule.hpp"
#include "sim/network/traffic_simulation.hpp"

namespace paceline::sim {
namespace {

using core::Bytes;
using core::CollectiveAlgorithm;
using core::CollectiveKind;
using core::Time;

constexpr core::ByteRate rate = core::gb_per_s(12.5);
constexpr Time cable = Time::from_ps(700'000);  // each of the two on a way
constexpr Time latency = cable * 2;

Time transfer(std::int64_t bytes) { return core::transfer_time(Bytes(bytes), rate); }

std::vector<int> first(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// One collective of all ranks, which begin at 0.
Traffic one(int ranks, Traffic::Collective collective) {
  Traffic traffic;
  traffic.communicators = {first(ranks)};
  traffic.collectives = {collective};
  traffic.ranks.assign(static_cast<std::size_t>(ranks), {{Traffic::Do::issue, {}, 0}});
  return traffic;
}

Time time_of(const TrafficNetwork& network, const Traffic& traffic,
             Granularity granularity = Granularity::steps, Folding folding = Folding::off) {
  return simulate_traffic(network, traffic, {granularity, folding}).end;
}

Time on_a_star(int ranks, Traffic::Collective collective) {
  return time_of(star_network(ranks, rate, cable), one(ranks, collective));
}

// 2(n − 1) steps for an all-reduce, n − 1 for the others; each slice of B / n bytes rounds up once
// and arrives the latency later.
TEST(OnAStar, a_ring_takes_its_steps_to_the_picosecond) {
  for (const int n : {2, 3, 4, 7, 8, 16, 33}) {
    const std::int64_t bytes = std::int64_t{n} * 1'000'003;
    const Time step = transfer(1'000'003) + latency;
    EXPECT_EQ(
        on_a_star(n, {0, CollectiveKind::all_reduce, CollectiveAlgorithm::ring, Bytes(bytes)}),
        step * (2 * (n - 1)));
    EXPECT_EQ(
        on_a_star(n, {0, CollectiveKind::reduce_scatter, CollectiveAlgorithm::ring, Bytes(bytes)}),
        step * (n - 1));
    EXPECT_EQ(
        on_a_star(n, {0, CollectiveKind::all_gather, CollectiveAlgorithm::ring, Bytes(bytes)}),
        step * (n - 1));
  }
}

// n = 2^k: rounds of B/2, B/4, …, B/n for the halving, and back for the doubling.
TEST(OnAStar, halving_and_doubling_takes_its_rounds_to_the_picosecond) {
  for (const int n : {2, 4, 8, 32}) {
    const std::int64_t bytes = std::int64_t{n} * 999'983;
    Time halving;
    for (int parts = 2; parts <= n; parts *= 2) halving += transfer(bytes / parts) + latency;
    const auto algorithm = CollectiveAlgorithm::recursive_halving_doubling;
    EXPECT_EQ(on_a_star(n, {0, CollectiveKind::reduce_scatter, algorithm, Bytes(bytes)}), halving);
    EXPECT_EQ(on_a_star(n, {0, CollectiveKind::all_gather, algorithm, Bytes(bytes)}), halving);
    EXPECT_EQ(on_a_star(n, {0, CollectiveKind::all_reduce, algorithm, Bytes(bytes)}), halving * 2);
  }
}

// n − 1 rounds, in each of which everybody sends one slice and receives another.
TEST(OnAStar, a_pairwise_exchange_takes_its_rounds_to_the_picosecond) {
  for (const int n : {2, 3, 8, 17}) {
    EXPECT_EQ(on_a_star(n, {0, CollectiveKind::all_to_all, CollectiveAlgorithm::pairwise,
                            Bytes(std::int64_t{n} * 65'537)}),
              (transfer(65'537) + latency) * (n - 1));
  }
}

TEST(OnAStar, a_point_to_point_is_one_transfer) {
  EXPECT_EQ(on_a_star(2, {0, CollectiveKind::point_to_point, CollectiveAlgorithm::pairwise,
                          Bytes(12'345'678)}),
            transfer(12'345'678) + latency);
}

// c chunks along n − 1 hops: the first takes n − 1 hops, each other follows one step behind. A
// member passes on a chunk while it receives the next: what limits is one transfer and, with two
// lanes, the way of a chunk in and out: the lane of chunk k is free when chunk k − 2 has left.
TEST(OnAStar, a_chain_of_chunks_is_a_pipeline) {
  const int n = 5;
  const int chunks = 4;
  const std::int64_t each = 10'000'019;
  const Time hop = transfer(each) + latency;
  // Transfers are longer than latencies here: the sender's port is the pace.
  ASSERT_GT(transfer(each), latency);
  EXPECT_EQ(on_a_star(n, {0, CollectiveKind::broadcast, CollectiveAlgorithm::ring,
                          Bytes(each * chunks), chunks}),
            hop * (n - 1) + transfer(each) * (chunks - 1));
}

// Two groups of two: in the group slices of B/2, between groups of B/4, in the group again B/2; two
// members' rings have 1 step, 2 · 1 steps, 1 step.
TEST(OnAStar, a_hierarchy_takes_its_three_phases_to_the_picosecond) {
  const std::int64_t bytes = 4 * 500'009;
  EXPECT_EQ(on_a_star(4, {0, CollectiveKind::all_reduce, CollectiveAlgorithm::hierarchical,
                          Bytes(bytes), 1, 2}),
            (transfer(bytes / 2) + latency) * 2 + (transfer(bytes / 4) + latency) * 2);
}

// Two members: each is root of one tree and leaf of the other. Each leaf sends its half up, each
// root answers: B/2 up, then B/2 down, both ways at once.
TEST(OnAStar, a_double_tree_of_two_goes_up_and_down) {
  const std::int64_t bytes = 2 * 700'001;
  EXPECT_EQ(on_a_star(2, {0, CollectiveKind::all_reduce, CollectiveAlgorithm::tree, Bytes(bytes)}),
            (transfer(bytes / 2) + latency) * 2);
}

// One member has nothing to send.
TEST(OnAStar, a_collective_of_one_takes_no_time) {
  for (const auto granularity : {Granularity::steps, Granularity::steady}) {
    EXPECT_EQ(time_of(star_network(1, rate, cable),
                      one(1, {0, CollectiveKind::all_reduce, CollectiveAlgorithm::ring, Bytes(8)}),
                      granularity),
              Time{});
  }
}

// Six bytes in four slices of 1, 2, 1, 2 (slice i is [6i/4, 6(i+1)/4)): in each step somebody sends
// two bytes, and the largest slice has a step's pace only where it stands; a slice of 2 travels
// with its own time each step, and every slice moves every step: 2(n − 1) transfers of 2 bytes.
TEST(OnAStar, the_largest_slice_sets_the_pace) {
  const Time step = transfer(2) + latency;
  EXPECT_EQ(on_a_star(4, {0, CollectiveKind::all_reduce, CollectiveAlgorithm::ring, Bytes(6)}),
            step * 6);
}

// ---- Contention: hand-derived shares.

/// Ranks 0, 1 on one side and 2, 3 on the other of one cable in each direction; ranks have ports
/// that do not limit.
TrafficNetwork two_sides(core::ByteRate uplink) {
  TrafficNetwork network;
  for (int rank = 0; rank < 4; ++rank) {
    network.capacity.push_back(core::gb_per_s(1000));
    network.capacity.push_back(core::gb_per_s(1000));
  }
  network.capacity.push_back(uplink);
  network.capacity.push_back(uplink);
  network.way = [](int from, int to) {
    TrafficNetwork::Way way;
    way.links = {2 * static_cast<std::uint32_t>(from), 2 * static_cast<std::uint32_t>(to) + 1};
    if (from / 2 != to / 2) way.links.push_back(from / 2 == 0 ? 8 : 9);
    way.latency = latency;
    return way;
  };
  return network;
}

// Two messages over one uplink: each has half. Equal sizes: both take twice as long.
TEST(Contention, two_messages_over_one_uplink_halve_it) {
  Traffic traffic;
  traffic.communicators = {{0, 2}, {1, 3}};
  const auto kind = CollectiveKind::point_to_point;
  const auto algorithm = CollectiveAlgorithm::pairwise;
  traffic.collectives = {{0, kind, algorithm, Bytes(1'000'000)},
                         {1, kind, algorithm, Bytes(1'000'000)}};
  traffic.ranks = {{{Traffic::Do::issue, {}, 0}},
                   {{Traffic::Do::issue, {}, 1}},
                   {{Traffic::Do::issue, {}, 0}},
                   {{Traffic::Do::issue, {}, 1}}};
  EXPECT_EQ(time_of(two_sides(rate), traffic), transfer(2'000'000) + latency);
}

// One of 1 MB, one of 3 MB: until the small one ends both have half: 2 MB / rate. Then the large
// one has 2 MB left and all: 2 MB / rate more.
TEST(Contention, the_longer_message_takes_all_when_the_shorter_has_ended) {
  Traffic traffic;
  traffic.communicators = {{0, 2}, {1, 3}};
  const auto kind = CollectiveKind::point_to_point;
  const auto algorithm = CollectiveAlgorithm::pairwise;
  traffic.collectives = {{0, kind, algorithm, Bytes(1'000'000)},
                         {1, kind, algorithm, Bytes(3'000'000)}};
  traffic.ranks = {{{Traffic::Do::issue, {}, 0}},
                   {{Traffic::Do::issue, {}, 1}},
                   {{Traffic::Do::issue, {}, 0}},
                   {{Traffic::Do::issue, {}, 1}}};
  const auto result =
      simulate_traffic(two_sides(rate), traffic, {Granularity::steps, Folding::off});
  EXPECT_EQ(result.collective_end[0], transfer(2'000'000) + latency);
  EXPECT_EQ(result.collective_end[1], transfer(2'000'000) + transfer(2'000'000) + latency);
}

// A message of 2 MB is alone for 40 us (it moves 0.5 MB at 12.5 GB/s), then another of 0.75 MB
// comes: both have half until that ends, 2 · 0.75 MB later, and 0.75 MB of the first are left.
TEST(Contention, a_message_that_comes_later_takes_its_share_from_then_on) {
  Traffic traffic;
  traffic.communicators = {{0, 2}, {1, 3}};
  const auto kind = CollectiveKind::point_to_point;
  const auto algorithm = CollectiveAlgorithm::pairwise;
  traffic.collectives = {{0, kind, algorithm, Bytes(2'000'000)},
                         {1, kind, algorithm, Bytes(750'000)}};
  traffic.ranks = {{{Traffic::Do::issue, {}, 0}},
                   {{Traffic::Do::compute, Time::from_us(40), 0}, {Traffic::Do::issue, {}, 1}},
                   {{Traffic::Do::issue, {}, 0}},
                   {{Traffic::Do::issue, {}, 1}}};
  const auto result =
      simulate_traffic(two_sides(rate), traffic, {Granularity::steps, Folding::off});
  const Time joint = Time::from_us(40) + transfer(1'500'000);
  EXPECT_EQ(result.collective_end[1], joint + latency);
  EXPECT_EQ(result.collective_end[0], joint + transfer(750'000) + latency);
}

// Two rings of two over the same uplink: every step of both crosses it, so each has half.
TEST(Contention, two_rings_over_one_uplink_share_it) {
  Traffic traffic;
  traffic.communicators = {{0, 2}, {1, 3}};
  traffic.collectives = {
      {0, CollectiveKind::all_reduce, CollectiveAlgorithm::ring, Bytes(2'000'000)},
      {1, CollectiveKind::all_reduce, CollectiveAlgorithm::ring, Bytes(2'000'000)}};
  traffic.ranks = {{{Traffic::Do::issue, {}, 0}},
                   {{Traffic::Do::issue, {}, 1}},
                   {{Traffic::Do::issue, {}, 0}},
                   {{Traffic::Do::issue, {}, 1}}};
  EXPECT_EQ(time_of(two_sides(rate), traffic), (transfer(2'000'000) + latency) * 2);
}

// A ring of four over two sides crosses the uplink once in each direction: nobody shares. Inside a
// side slices hurry ahead, so that the crossing members send their three without a gap.
TEST(Contention, a_ring_that_crosses_once_has_the_uplink_for_itself) {
  EXPECT_EQ(time_of(two_sides(rate), one(4, {0, CollectiveKind::all_gather,
                                             CollectiveAlgorithm::ring, Bytes(4'000'000)})),
            transfer(1'000'000) * 3 + latency);
}

// The pairwise exchange of two sides: round 1 (i to i + 1) crosses once each way; round 2 (i to i +
// 2) with both ranks of a side: half each; round 3 (i to i + 3) once. Rounds keep step: everybody's
// round ends with the slowest of those that he waits for, and in rounds 1 and 3 those inside a side
// are so much faster that they only start the next round early, where they wait for the crossing
// ones.
TEST(Contention, an_exchange_over_an_uplink_moves_what_crosses_it) {
  const std::int64_t each = 1'000'000;
  const Time end = time_of(
      two_sides(rate),
      one(4, {0, CollectiveKind::all_to_all, CollectiveAlgorithm::pairwise, Bytes(4 * each)}));
  // Four slices cross each way; never faster than that, and with idle gaps of no more than a round.
  EXPECT_GE(end, transfer(4 * each) + latency);
  EXPECT_LE(end, transfer(4 * each) + (transfer(each) + latency) * 2);
}

// A cable of a quarter of the rate under member 1: every slice crosses it in turn: the ring moves
// at its pace. Its slices follow each other without a gap: 2(n − 1) of them leave member 1, one
// after the other, the first after member 0's first step… the last arrives 0 to n − 1 members
// later. Hence at least 2(n − 1) slow transfers, at most the whole way at the slow pace.
TEST(Contention, a_slow_cable_slows_its_ring) {
  const int n = 8;
  TrafficNetwork network = star_network(n, rate, cable);
  network.capacity[2] = core::ByteRate(rate.value() / 4);  // from rank 1
  const std::int64_t slice = 1'000'000;
  const Time slow = core::transfer_time(Bytes(slice), network.capacity[2]);
  const Time end =
      time_of(network,
              one(n, {0, CollectiveKind::all_reduce, CollectiveAlgorithm::ring, Bytes(n * slice)}));
  EXPECT_GE(end, slow * (2 * (n - 1)));
  EXPECT_LE(end, (slow + latency) * (2 * (n - 1)));
}

// ---- A rank that comes late: the ring begins with it, step by step as steady.
TEST(Ranks, a_ring_ends_its_time_after_the_last_member_came) {
  const int n = 4;
  Traffic traffic =
      one(n, {0, CollectiveKind::all_reduce, CollectiveAlgorithm::ring, Bytes(4'000'000)});
  traffic.ranks[2].insert(traffic.ranks[2].begin(), {Traffic::Do::compute, Time::from_us(1000), 0});
  const Time alone = (transfer(1'000'000) + latency) * 6;
  // Slices that passed before wait at the late member; it sends its own six one after the other.
  const Time by_steps = time_of(star_network(n, rate, cable), traffic);
  EXPECT_EQ(by_steps, Time::from_us(1000) + alone);
  const Time steady = time_of(star_network(n, rate, cable), traffic, Granularity::steady);
  EXPECT_EQ(steady, Time::from_us(1000) + transfer(6'000'000) + latency * 6);
}

// Collectives of one rank's stream run one after the other; compute does not wait for them.
TEST(Ranks, collectives_queue_on_their_stream_while_compute_goes_on) {
  Traffic traffic =
      one(2, {0, CollectiveKind::all_gather, CollectiveAlgorithm::ring, Bytes(2'000'000)});
  traffic.collectives.push_back(traffic.collectives[0]);
  for (auto& rank : traffic.ranks) {
    rank = {{Traffic::Do::issue, {}, 0},
            {Traffic::Do::issue, {}, 1},
            {Traffic::Do::compute, Time::from_us(10), 0}};
  }
  const auto result =
      simulate_traffic(star_network(2, rate, cable), traffic, {Granularity::steps, Folding::off});
  EXPECT_EQ(result.compute_end[0], Time::from_us(10));
  EXPECT_EQ(result.end, (transfer(1'000'000) + latency) * 2);
}

TEST(Ranks, a_wait_holds_the_compute_stream) {
  Traffic traffic =
      one(2, {0, CollectiveKind::all_gather, CollectiveAlgorithm::ring, Bytes(2'000'000)});
  for (auto& rank : traffic.ranks) {
    rank = {{Traffic::Do::issue, {}, 0},
            {Traffic::Do::wait, {}, 0},
            {Traffic::Do::compute, Time::from_us(10), 0}};
  }
  const auto result =
      simulate_traffic(star_network(2, rate, cable), traffic, {Granularity::steps, Folding::off});
  EXPECT_EQ(result.end, transfer(1'000'000) + latency + Time::from_us(10));
}

// ---- Two granularities of one model.

void expect_close(const TrafficNetwork& network, const Traffic& traffic, double share) {
  const double steps = time_of(network, traffic).us();
  const double steady = time_of(network, traffic, Granularity::steady).us();
  EXPECT_NEAR(steady / steps, 1, share);
}

TEST(Granularities, agree_within_one_percent_on_a_star) {
  for (const int n : {2, 4, 8, 16, 64}) {
    const std::int64_t bytes = std::int64_t{n} * 1'000'000;
    const auto network = star_network(n, rate, cable);
    for (const auto& collective : std::vector<Traffic::Collective>{
             {0, CollectiveKind::all_reduce, CollectiveAlgorithm::ring, Bytes(bytes)},
             {0, CollectiveKind::reduce_scatter, CollectiveAlgorithm::ring, Bytes(bytes)},
             {0, CollectiveKind::all_gather, CollectiveAlgorithm::ring, Bytes(bytes)},
             {0, CollectiveKind::all_reduce, CollectiveAlgorithm::recursive_halving_doubling,
              Bytes(bytes)},
             {0, CollectiveKind::all_to_all, CollectiveAlgorithm::pairwise, Bytes(bytes)},
             {0, CollectiveKind::broadcast, CollectiveAlgorithm::ring, Bytes(bytes), 16},
             {0, CollectiveKind::all_reduce, CollectiveAlgorithm::hierarchical, Bytes(bytes), 1,
              2}}) {
      SCOPED_TRACE(testing::Message() << n << " members, " << core::spelling(collective.kind)
                                      << " by " << core::spelling(collective.algorithm));
      expect_close(network, one(n, collective), 0.01);
    }
  }
}

// Three rings over the same uplinks, of different sizes: under contention within 3 %.
TEST(Granularities, agree_within_three_percent_under_contention) {
  const auto network = two_sides(rate);
  Traffic traffic;
  traffic.communicators = {{0, 2}, {1, 3}};
  traffic.collectives = {
      {0, CollectiveKind::all_reduce, CollectiveAlgorithm::ring, Bytes(20'000'000)},
      {1, CollectiveKind::all_reduce, CollectiveAlgorithm::ring, Bytes(44'000'000)}};
  traffic.ranks = {{{Traffic::Do::issue, {}, 0}},
                   {{Traffic::Do::issue, {}, 1}},
                   {{Traffic::Do::issue, {}, 0}},
                   {{Traffic::Do::issue, {}, 1}}};
  expect_close(network, traffic, 0.03);
}

// ---- What a ring compiled directly holds is what its schedule holds.
TEST(CompiledSchedule, a_ring_is_its_schedule) {
  const WayOf way = [](int from, int to) {
    return static_cast<FlowNetwork::WayId>(100 * from + to);
  };
  for (const auto kind :
       {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    for (int n = 1; n <= 9; ++n) {
      for (const std::int64_t bytes : {0, 1, 10, 63, 64}) {
        const auto schedule = models::make_schedule(kind, CollectiveAlgorithm::ring, n, bytes);
        const auto from_schedule = compile(schedule, 1, way);
        const auto direct = compile_ring(kind, n, Bytes(bytes), way);
        ASSERT_EQ(direct.step_count(), from_schedule.step_count());
        ASSERT_EQ(direct.first_step, from_schedule.first_step);
        ASSERT_EQ(direct.lane_begin, from_schedule.lane_begin);
        ASSERT_EQ(direct.steps_of, from_schedule.steps_of);
        for (std::size_t i = 0; i < direct.step_count(); ++i) {
          const auto a = direct.step(i);
          const auto b = from_schedule.step(i);
          ASSERT_EQ(std::tie(a.bytes, a.way, a.peer, a.next, a.lane, a.after, a.receives),
                    std::tie(b.bytes, b.way, b.peer, b.next, b.lane, b.after, b.receives));
        }
        const auto no_latency = [](int, int) { return Time{}; };
        const auto flows = steady_ring(kind, n, Bytes(bytes), way, no_latency);
        const auto edges = steady(schedule, 1, way, no_latency, Time{});
        ASSERT_EQ(flows.edges.size(), edges.edges.size());
        for (std::size_t i = 0; i < flows.edges.size(); ++i) {
          ASSERT_EQ(flows.edges[i].way, edges.edges[i].way);
          ASSERT_EQ(flows.edges[i].bytes, edges.edges[i].bytes);
        }
      }
    }
  }
}

TEST(CompiledSchedule, refuses_sends_without_receives) {
  auto schedule =
      models::make_schedule(CollectiveKind::all_reduce, CollectiveAlgorithm::ring, 2, 4);
  const WayOf way = [](int, int) { return FlowNetwork::WayId{0}; };
  schedule.members[0].pop_back();
  EXPECT_THROW(static_cast<void>(compile(schedule, 1, way)), core::InvariantError);
  schedule.members[1].clear();
  EXPECT_THROW(static_cast<void>(compile(schedule, 1, way)), core::InvariantError);
}

}  // namespace
}  // namespace paceline::sim
