#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/rates.hpp"
#include "sim/network/flow_network.hpp"
#include "sim/network/traffic_simulation.hpp"

namespace paceline::sim {
namespace {

Traffic two_ranks() {
  Traffic traffic;
  traffic.communicators = {{0, 1}};
  traffic.collectives = {
      {0, core::CollectiveKind::all_reduce, core::CollectiveAlgorithm::ring, core::Bytes(8)}};
  traffic.ranks.assign(2, {{Traffic::Do::issue, {}, 0}});
  return traffic;
}

template <class Error>
void expect_refusal(const Traffic& traffic, const char* text) {
  const auto network = star_network(2, core::gb_per_s(1), core::Time{});
  try {
    static_cast<void>(simulate_traffic(network, traffic, {Granularity::steps, Folding::off}));
    FAIL() << text;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
  }
}

TEST(Traffic, names_what_is_not_there) {
  Traffic traffic = two_ranks();
  traffic.ranks[1][0].index = 5;
  expect_refusal<core::InvariantError>(traffic, "rank 1 names collective 5 (there are 1)");
  traffic = two_ranks();
  traffic.communicators[0][1] = 2;
  expect_refusal<core::InvariantError>(traffic, "a communicator names rank 2 (there are 2)");
  traffic = two_ranks();
  traffic.collectives[0].communicator = 3;
  expect_refusal<core::InvariantError>(traffic, "names communicator 3 (there are 1)");
  traffic = two_ranks();
  traffic.ranks.clear();
  expect_refusal<core::InvariantError>(traffic, "traffic of 0 ranks");
}

TEST(Traffic, refuses_a_collective_of_others) {
  Traffic traffic = two_ranks();
  traffic.communicators[0] = {0};
  expect_refusal<core::InvariantError>(traffic, "which it is no member of");
}

TEST(Traffic, says_who_waits_for_ever) {
  Traffic traffic = two_ranks();
  traffic.ranks[1].clear();
  expect_refusal<core::RunError>(traffic, "rank 0 waits for ever for collective 0");
}

TEST(FlowNetwork, refuses_ways_without_links_and_with_a_link_twice) {
  Engine engine(4);
  FlowNetwork network(engine);
  const auto link = network.add_link(core::gb_per_s(1));
  EXPECT_THROW(static_cast<void>(network.add_way({}, core::Time{})), core::InvariantError);
  const MaxMin::Resource twice[] = {link, link};
  EXPECT_THROW(static_cast<void>(network.add_way(twice, core::Time{})), core::InvariantError);
}

}  // namespace
}  // namespace paceline::sim
