#include <gmock/gmock.h>

#include "core/error.hpp"
#include "core/rates.hpp"
#include "hardware_profiles/cluster.hpp"

namespace paceline::hardware_profiles {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A graph by hand: vertices by letter, links by two letters.
class Drawing {
 public:
  explicit Drawing(int vertices) {
    for (int i = 0; i < vertices; ++i) {
      cluster.vertices.push_back({std::string(1, static_cast<char>('a' + i)), 0, "switch"});
    }
  }
  Drawing& link(const char* ends, double latency_us, double gb_per_s = 1) {
    Link link;
    link.a = vertex(ends[0]);
    link.b = vertex(ends[1]);
    link.latency = core::Time::from_us(latency_us);
    link.bandwidth = core::gb_per_s(gb_per_s);
    cluster.links.push_back(link);
    return *this;
  }
  static VertexId vertex(char letter) { return VertexId(static_cast<std::size_t>(letter - 'a')); }
  /// The vertices on the way, as letters.
  [[nodiscard]] std::string way(char from, char to) const {
    std::string letters(1, from);
    VertexId at = vertex(from);
    for (const LinkId id : cluster.route(vertex(from), vertex(to))) {
      const Link& link = cluster.links[id.index()];
      at = link.a == at ? link.b : link.a;
      letters += cluster.vertices[at.index()].name;
    }
    return letters;
  }

  Cluster cluster;
};

TEST(Route, a_longer_way_with_less_latency_wins) {
  // a–c takes 5 us at once; a–b–c takes 1 + 1 us.
  Drawing drawing(3);
  drawing.link("ac", 5).link("ab", 1).link("bc", 1);
  EXPECT_EQ(drawing.way('a', 'c'), "abc");
  EXPECT_EQ(drawing.way('c', 'a'), "cba");
  EXPECT_EQ(drawing.way('a', 'a'), "a");
}

TEST(Route, fewer_links_win_at_equal_latency) {
  // a–d–c takes 1 + 1 us, a–b–e–c takes 1 + 0.5 + 0.5 us: the same time over one more link.
  Drawing drawing(5);
  drawing.link("ab", 1).link("be", 0.5).link("ec", 0.5).link("ad", 1).link("dc", 1);
  EXPECT_EQ(drawing.way('a', 'c'), "adc");
}

TEST(Route, the_wider_way_wins_at_equal_latency_and_links) {
  // Over b the narrowest link has 3 GB/s, over d 2 GB/s, though its other link has 9.
  Drawing drawing(4);
  drawing.link("ad", 1, 9).link("dc", 1, 2).link("ab", 1, 3).link("bc", 1, 4);
  EXPECT_EQ(drawing.way('a', 'c'), "abc");
  EXPECT_EQ(drawing.way('c', 'a'), "cba");
}

TEST(Route, the_lowest_link_wins_among_equals) {
  // A square: b and d are alike; the link d–c (1) is written before b–c (3).
  Drawing drawing(4);
  drawing.link("ad", 1).link("dc", 1).link("ab", 1).link("bc", 1);
  EXPECT_EQ(drawing.way('a', 'c'), "adc");
  Drawing turned(4);
  turned.link("ab", 1).link("bc", 1).link("ad", 1).link("dc", 1);
  EXPECT_EQ(turned.way('a', 'c'), "abc");
}

TEST(Route, of_two_parallel_links_the_faster_is_taken) {
  Drawing drawing(2);
  drawing.link("ab", 2, 100).link("ab", 1, 1).link("ab", 1, 5);
  EXPECT_THAT(drawing.cluster.route(VertexId(0), VertexId(1)), ElementsAre(LinkId(2)));
}

TEST(Route, no_way_is_an_error_that_names_both_ends) {
  Drawing drawing(3);
  drawing.link("ab", 1);
  try {
    (void)drawing.way('a', 'c');
    FAIL();
  } catch (const core::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no way from a to c"));
  }
}

TEST(Route, a_copy_may_be_changed) {
  Drawing drawing(3);
  drawing.link("ac", 5).link("ab", 1).link("bc", 1);
  EXPECT_EQ(drawing.way('a', 'c'), "abc");
  Drawing copy = drawing;
  copy.cluster.links[1].latency = core::Time::from_us(9);
  EXPECT_EQ(copy.way('a', 'c'), "ac");
  EXPECT_EQ(drawing.way('a', 'c'), "abc");
}

TEST(Route, dgx1_goes_from_gpu0_to_gpu7_over_two_nvlinks) {
  // No NVLink joins GPU 0 and GPU 7. Two NVLinks do by way of GPU 3 (50 then 25 GB/s) or of GPU 4
  // (50 then 50 GB/s); PCI Express needs four links and the one between the sockets. Equal in
  // latency and number, the way over GPU 4 is wider.
  const Cluster dgx1 = read_cluster_text(
      R"({"schema": "paceline/cluster/1", "id": "c", "name": "c", "nodes": [{"node": "dgx1_v100"}]})",
      "c", "");
  const auto way = dgx1.route(dgx1.slots[0].vertex, dgx1.slots[7].vertex);
  ASSERT_EQ(way.size(), 2U);
  const auto name = [&](VertexId vertex) { return dgx1.vertices[vertex.index()].name; };
  EXPECT_EQ(name(dgx1.links[way[0].index()].a), "node0/gpu0");
  EXPECT_EQ(name(dgx1.links[way[0].index()].b), "node0/gpu4");
  EXPECT_EQ(name(dgx1.links[way[1].index()].b), "node0/gpu7");
  EXPECT_EQ(dgx1.links[way[0].index()].kind, "nvlink");
}

TEST(Route, is_the_same_for_every_source_and_order_of_questions) {
  const Cluster a = find_cluster("tesla", "");
  const Cluster b = find_cluster("tesla", "");
  std::vector<std::vector<LinkId>> forward;
  for (const Slot& from : a.slots) {
    for (const Slot& to : a.slots) forward.push_back(a.route(from.vertex, to.vertex));
  }
  std::vector<std::vector<LinkId>> backward;
  for (auto from = b.slots.rbegin(); from != b.slots.rend(); ++from) {
    for (auto to = b.slots.rbegin(); to != b.slots.rend(); ++to) {
      backward.push_back(b.route(from->vertex, to->vertex));
    }
  }
  std::reverse(backward.begin(), backward.end());
  EXPECT_EQ(forward, backward);
}

}  // namespace
}  // namespace paceline::hardware_profiles
