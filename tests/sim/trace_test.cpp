#include "core/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hand_made.hpp"
#include "sim/predict/predict.hpp"

namespace paceline::sim {
namespace {

using nlohmann::json;

TEST(Trace, text_has_the_keys_that_viewers_read) {
  core::Trace trace;
  trace.backend = "mpi";
  trace.world_size = 2;
  trace.ranks = {{.rank = 1, .name = "a \"quoted\" name"}};
  trace.events = {{.name = "forward.m0.head",
                   .category = core::TraceCategory::kernel,
                   .rank = 1,
                   .stream = core::Stream::communication,
                   .start_us = 1.5,
                   .duration_us = 0.25,
                   .args = {{"kind", "matmul"}}}};
  const json text = json::parse(core::trace_text(trace));
  EXPECT_EQ(text["schemaVersion"], 1);
  EXPECT_EQ(text["displayTimeUnit"], "ms");
  EXPECT_EQ(text["distributedInfo"], (json{{"backend", "mpi"}, {"rank", 1}, {"world_size", 2}}));
  const json& events = text["traceEvents"];
  EXPECT_EQ(events.front()["ph"], "M");
  EXPECT_EQ(events.front()["name"], "process_name");
  EXPECT_EQ(events.front()["args"]["name"], "a \"quoted\" name");
  EXPECT_EQ(events.back(), (json{{"ph", "X"},
                                 {"cat", "kernel"},
                                 {"name", "forward.m0.head"},
                                 {"pid", 1},
                                 {"tid", 1},
                                 {"ts", 1.5},
                                 {"dur", 0.25},
                                 {"args", {{"kind", "matmul"}}}}));
}

Prediction traced(bool overlap) {
  models::Experiment experiment = testing::small_experiment(2);
  experiment.training.micro_batch = {3, 9};
  experiment.parallel.overlap = overlap;
  core::Random random(5);
  return predict_with_trace(
      experiment,
      testing::meshed_cluster(2, {testing::random_device("cpu", experiment, 2, random)}, 2, 1000));
}

TEST(Trace, a_prediction_with_a_trace_has_the_same_report) {
  models::Experiment experiment = testing::small_experiment(2);
  core::Random random(5);
  const auto cluster =
      testing::meshed_cluster(2, {testing::random_device("cpu", experiment, 2, random)}, 2, 1000);
  EXPECT_EQ(core::report_text(predict_with_trace(experiment, cluster).report),
            core::report_text(predict(experiment, cluster)));
}

TEST(Trace, every_operation_of_every_rank_is_in_it_once) {
  for (const bool overlap : {false, true}) {
    const Prediction prediction = traced(overlap);
    for (const core::OperationReport& operation : prediction.report.operations) {
      for (const int rank : {0, 1}) {
        const auto& events = prediction.trace.events;
        EXPECT_EQ(std::count_if(events.begin(), events.end(),
                                [&](const core::TraceEvent& event) {
                                  return event.rank == rank && event.name == operation.id &&
                                         event.category == core::TraceCategory::kernel;
                                }),
                  1)
            << operation.id;
      }
    }
  }
}

TEST(Trace, events_lie_within_their_ranks_step) {
  const Prediction prediction = traced(true);
  for (const int rank : {0, 1}) {
    const auto& events = prediction.trace.events;
    const auto step = std::find_if(events.begin(), events.end(), [&](const auto& event) {
      return event.rank == rank && event.name == "ProfilerStep#0";
    });
    ASSERT_NE(step, events.end());
    EXPECT_NEAR(step->duration_us, prediction.report.step_time_us->median, 1e-9);
    for (const core::TraceEvent& event : events) {
      if (event.rank != rank) continue;
      EXPECT_GE(event.start_us, step->start_us - 1e-9) << event.name;
      EXPECT_LE(event.start_us + event.duration_us, step->start_us + step->duration_us + 1e-6)
          << event.name;
    }
  }
}

}  // namespace
}  // namespace paceline::sim
