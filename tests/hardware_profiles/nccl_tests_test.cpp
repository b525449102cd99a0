#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware_profiles/nccl_tests_text.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/hardware_profiles/nccl_tests_log.hpp"

/// Does a log of nccl-tests become a table of the group that it was measured on, and nothing else?
namespace paceline::hardware_profiles {
namespace {

using core::CollectiveKind;
using test::LogOfNccl;
using test::nccl_log;
using testing::HasSubstr;
using testing::SizeIs;

NcclTestsLog read(const LogOfNccl& log) { return read_nccl_tests({"a.log", nccl_log(log)}, {}); }

std::string refusal(const std::string& text, std::optional<CollectiveKind> kind = {}) {
  return test::message_of<core::ConfigError>(
      [&] { return read_nccl_tests({"a.log", text}, kind); });
}

constexpr auto cluster_of_four = R"({"schema": "paceline/cluster/1", "id": "c", "name": "c",
  // a comment
  "nodes": [{"devices": [{"id": "cpu0", "kind": "cpu"}, {"id": "gpu0", "kind": "gpu", "gpu": "t4"},
     {"id": "gpu1", "kind": "gpu", "gpu": "t4"}, {"id": "gpu2", "kind": "gpu", "gpu": "t4"},
     {"id": "gpu3", "kind": "gpu", "gpu": "t4"}],
   "links": [{"between": ["gpu0", "cpu0"], "kind": "pcie", "bandwidth_gb_per_s": 15},
             {"between": ["gpu1", "cpu0"], "kind": "pcie", "bandwidth_gb_per_s": 15},
             {"between": ["gpu2", "cpu0"], "kind": "pcie", "bandwidth_gb_per_s": 15},
             {"between": ["gpu3", "cpu0"], "kind": "pcie", "bandwidth_gb_per_s": 15}]}]})";

TEST(NcclTests, table_ranks_and_nodes_of_a_log) {
  const NcclTestsLog log = read({.ranks_per_host = 2});
  EXPECT_EQ(log.table.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(log.table.ranks, 4);
  EXPECT_EQ(log.table.nodes, 2);
  EXPECT_EQ(log.gpu, "NVIDIA A100-SXM4-80GB");
  ASSERT_THAT(log.table.points, SizeIs(3));
  EXPECT_EQ(log.table.points[1].bytes, core::Bytes(1048576));
  EXPECT_EQ(log.table.points[1].time_us, 100);
  // 1,073,741,824 bytes in 10 ms: 107.37 GB/s × 2·3/4, printed with two decimals.
  EXPECT_NEAR(log.best_busbw_gb_per_s, 161.06, 0.005);
}

TEST(NcclTests, a_size_that_stands_there_several_times_counts_by_its_median) {
  const NcclTestsLog log = read({.rows = {{4096, 30}, {4096, 10}, {4096, 20}}});
  ASSERT_THAT(log.table.points, SizeIs(1));
  EXPECT_EQ(log.table.points[0].time_us, 20);
}

TEST(NcclTests, an_old_log_is_known_by_its_factor) {
  EXPECT_EQ(read({.program = ""}).table.kind, CollectiveKind::all_reduce);
  // Over two ranks the factor of an all-reduce is 1, as that of a broadcast.
  EXPECT_THAT(refusal(nccl_log({.program = "", .ranks = 2, .factor = 1})),
              HasSubstr("a.log: does not say which collective it is (give --collective, one of "));
  EXPECT_EQ(read_nccl_tests({"a.log", nccl_log({.program = "", .ranks = 2, .factor = 1})},
                            CollectiveKind::all_reduce)
                .table.ranks,
            2);
}

TEST(NcclTests, what_is_no_measurement_of_a_group_is_refused) {
  EXPECT_THAT(refusal("hello\n"), HasSubstr("a.log: holds no table of nccl-tests"));
  EXPECT_THAT(refusal(nccl_log({.ranks = 1})),
              HasSubstr("is of one rank alone, which measures no communication"));
  EXPECT_THAT(refusal(nccl_log({.wrong = "4"})),
              HasSubstr("line 13: has 4 wrong values (find out why"));
  EXPECT_THAT(refusal(nccl_log({.program = "gather_perf"})),
              HasSubstr("is of gather_perf, which is no collective of Paceline's"));
  EXPECT_THAT(refusal(nccl_log({.factor = 0.75})),
              HasSubstr("the factor of all_reduce over 4 ranks is 1.5 (is it another collective? "
                        "give --collective)"));
}

TEST(NcclTests, other_conventions_and_cut_logs_are_refused_with_their_line) {
  const std::string good = nccl_log({});
  const std::string row = "10000.00  107.37  161.06";
  ASSERT_THAT(good, HasSubstr(row));
  const auto with = [&](const std::string& other) {
    std::string text = good;
    return text.replace(text.find(row), row.size(), other);
  };
  // Twice the bytes, as DeepSpeed's logger counts an all-reduce.
  EXPECT_THAT(refusal(with("10000.00  214.75  322.12")),
              HasSubstr("line 15: has algbw 214.75 GB/s, but bytes / time is 107.37 (this is not "
                        "nccl-tests' convention"));
  EXPECT_THAT(refusal(with("10000.00     x    161.06")),
              HasSubstr("line 15: has no numbers where the header says time and algbw"));
  EXPECT_THAT(refusal(good.substr(0, good.find(row))),
              HasSubstr("line 15: has 5 columns, but the header has 13 (the log is cut)"));
  EXPECT_THAT(refusal(with("0.00  107.37  161.06")),
              HasSubstr("got a time of 0.00 us (must be > 0)"));
  EXPECT_THAT(refusal(good.substr(good.find("#       size"))),
              HasSubstr("has no \"Rank … on HOST\" lines"));
}

TEST(NcclTests, a_cluster_takes_the_table_and_replaces_its_like) {
  const NcclTestsLog log = read({});
  const std::string once = cluster_with(log.table, "first", {"c.json", cluster_of_four}, "");
  MeasuredCollective slower = log.table;
  slower.points[0].time_us = 25;
  const std::string twice = cluster_with(slower, "second", {"c.json", once}, "");
  const Cluster cluster = read_cluster_text(twice, "c.json", "");
  ASSERT_THAT(cluster.measured_collectives, SizeIs(1));
  EXPECT_EQ(cluster.measured_collectives[0].points[0].time_us, 25);
  EXPECT_EQ(cluster.measured_collectives[0].source, "nccl_tests_all_reduce_4_ranks_1_nodes");
  EXPECT_THAT(twice, HasSubstr("\"title\": \"second\""));
  // It is part of what the cluster is.
  EXPECT_NE(cluster.hash, read_cluster_text(once, "c.json", "").hash);
}

TEST(NcclTests, a_cluster_too_small_for_the_table_is_refused) {
  const NcclTestsLog log = read({.ranks = 8, .ranks_per_host = 8, .factor = 1.75});
  EXPECT_EQ(test::message_of<core::ConfigError>(
                [&] { return cluster_with(log.table, "t", {"c.json", cluster_of_four}, ""); }),
            "c.json#/nodes: have 4 slots on 1 nodes, but the table is of 8 ranks on 1 (import it "
            "into the cluster that it was measured on)");
}

TEST(NcclTests, factors_are_those_of_nccl_tests) {
  EXPECT_EQ(busbw_factor(CollectiveKind::all_reduce, 8), 1.75);  // 2·7/8
}

}  // namespace
}  // namespace paceline::hardware_profiles
