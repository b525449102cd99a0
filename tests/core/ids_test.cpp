#include "core/ids.hpp"

#include <gtest/gtest.h>

#include <concepts>

namespace paceline::core {
namespace {

using LinkId = OpaqueId<struct Link>;
using DeviceId = OpaqueId<struct Device>;

template <class A, class B>
concept Equals = requires(A a, B b) { a == b; };

static_assert(!Equals<LinkId, DeviceId> && !std::constructible_from<LinkId, DeviceId>);
static_assert(!std::convertible_to<std::size_t, LinkId>);

TEST(OpaqueId, points_nowhere_until_it_is_given_an_index) {
  EXPECT_FALSE(LinkId{}.valid());
  EXPECT_TRUE(LinkId(0).valid());
  EXPECT_EQ(LinkId(7).index(), 7U);
}

TEST(OpaqueId, orders_by_index) {
  EXPECT_LT(LinkId(1), LinkId(2));
  EXPECT_EQ(LinkId(3), LinkId(3));
  EXPECT_NE(LinkId(0), LinkId{});
}

}  // namespace
}  // namespace paceline::core
