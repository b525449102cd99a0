#include "runtime/measure/measured_trace.hpp"

#include <gmock/gmock.h>

#include "core/error.hpp"
#include "models/lowering/lowering.hpp"
#include "runtime/training/trainer.hpp"

namespace paceline::runtime {
namespace {

TEST(TypicalRunOfSteps, has_the_mean_nearest_to_the_median_step) {
  const std::vector<double> step_us{20, 10, 20, 10, 9, 12};
  // Median of {9, 10, 10, 12, 20, 20} is 11; means of two: 15, 15, 15, 9.5, 10.5.
  EXPECT_EQ(typical_run_of_steps(step_us, 2), 4U);
  // Single steps: 10 and 12 are 1 off, 10 stands first.
  EXPECT_EQ(typical_run_of_steps(step_us, 1), 1U);
  EXPECT_EQ(typical_run_of_steps(step_us, 6), 0U);
  EXPECT_THROW(static_cast<void>(typical_run_of_steps(step_us, 7)), core::InvariantError);
  EXPECT_THROW(static_cast<void>(typical_run_of_steps(step_us, 0)), core::InvariantError);
}

models::Experiment tiny_experiment() {
  models::Experiment experiment;
  experiment.model = {.id = "tiny",
                      .image_size = 8,
                      .patch_size = 4,
                      .width = 16,
                      .depth = 2,
                      .heads = 2,
                      .mlp_hidden = 32,
                      .classes = 10};
  experiment.training.micro_batch = {2};
  experiment.run.steps = 5;
  experiment.run.warmup_steps = 1;
  return experiment;
}

TEST(MeasuredTrace, holds_each_operation_of_the_program_once_a_step_inside_its_span) {
  const auto communicator = make_single_communicator();
  TrainSettings settings;
  settings.experiment = tiny_experiment();
  settings.trace_steps = 2;
  const TrainOutcome outcome = train(*communicator, settings);
  ASSERT_TRUE(outcome.trace.has_value());
  const models::Program program = models::lower_training(settings.experiment, 0);
  std::vector<std::string> expected;
  for (int step = 0; step < 2; ++step) {
    for (const models::Operation& operation : program.operations) {
      expected.push_back(operation.name());
    }
  }
  std::vector<std::string> kernels;
  std::vector<core::TraceEvent> spans;
  for (const core::TraceEvent& event : outcome.trace->events) {
    if (event.category == core::TraceCategory::kernel) {
      kernels.push_back(event.name);
      EXPECT_GE(event.start_us, spans.back().start_us);
      EXPECT_LE(event.start_us + event.duration_us,
                spans.back().start_us + spans.back().duration_us + 1e-3);
    } else {
      spans.push_back(event);
    }
  }
  EXPECT_EQ(kernels, expected);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].name, "ProfilerStep#0");
  EXPECT_EQ(spans[0].start_us, 0.0);
  EXPECT_EQ(spans[1].name, "ProfilerStep#1");
}

TEST(MeasuredTrace, none_is_made_unless_asked_for) {
  const auto communicator = make_single_communicator();
  TrainSettings settings;
  settings.experiment = tiny_experiment();
  EXPECT_FALSE(train(*communicator, settings).trace.has_value());
}

}  // namespace
}  // namespace paceline::runtime
