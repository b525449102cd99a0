#include "core/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/core/temporary_folder.hpp"

namespace paceline::core {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

Trace two_ranks() {
  Trace trace;
  trace.backend = "mpi";
  trace.world_size = 2;
  trace.ranks = {{0, "this_cpu"}, {1, "other_cpu"}};
  trace.events = {{.name = "step",
                   .category = TraceCategory::user_annotation,
                   .rank = 1,
                   .start_us = 0,
                   .duration_us = 1000.5,
                   .args = {}},
                  {.name = "communication.bucket0.all_reduce",
                   .rank = 0,
                   .stream = Stream::communication,
                   .start_us = 10,
                   .duration_us = 1.0 / 3.0,
                   .args = {{"bytes", "1024"}}}};
  return trace;
}

class TraceFile : public testing::Test {
 protected:
  std::filesystem::path written(const std::string& text) {
    const auto path = folder_.path() / "trace.json";
    write_file_atomically(path, text);
    return path;
  }
  test::TemporaryFolder folder_;
};

TEST_F(TraceFile, comes_back_as_it_was_written) {
  const Trace trace = two_ranks();
  const Trace back = read_trace(written(trace_text(trace)));
  EXPECT_EQ(back.backend, "mpi");
  EXPECT_EQ(back.world_size, 2);
  ASSERT_THAT(back.ranks, SizeIs(2));
  EXPECT_EQ(back.ranks[1].name, "other_cpu");
  EXPECT_EQ(trace_text(back), trace_text(trace));
}

TEST_F(TraceFile, a_rank_beyond_the_world_is_a_fault) {
  Trace trace = two_ranks();
  trace.world_size = 1;
  const auto faults = test::faults_of([&] { return read_trace(written(trace_text(trace))); });
  // Seven names of rank 0, then those of rank 1.
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults.front().pointer, "/traceEvents/7/pid");
  EXPECT_EQ(faults.front().problem, "got 1 (must be < 1, the world_size of distributedInfo)");
}

TEST_F(TraceFile, every_fault_is_told_at_once) {
  const auto faults = test::faults_of([&] {
    return read_trace(written(R"({"schemaVersion": 2, "displayTimeUnit": "ms",
      "distributedInfo": {"backend": "none", "rank": 0, "world_size": 0},
      "traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 2, "ts": 1, "dur": -1}]})"));
  });
  std::vector<std::string> texts;
  for (const Fault& fault : faults) texts.push_back(fault.pointer + ": " + fault.problem);
  EXPECT_THAT(texts, ElementsAre("/schemaVersion: got 2 (must be 1)",
                                 "/distributedInfo/world_size: got 0 (must be >= 1)",
                                 "/traceEvents/0/tid: got 2 (must be <= 1)",
                                 "/traceEvents/0/dur: got -1 (must be >= 0.0)"));
}

}  // namespace
}  // namespace paceline::core
