#include <gmock/gmock.h>

#include <limits>

#include "core/error.hpp"
#include "models/lowering/lowering.hpp"
#include "runtime/training/initial_weights.hpp"
#include "runtime/training/step_executor.hpp"
#include "runtime/training/trainer.hpp"

/// A run whose loss is no number ends and says when and where.
namespace paceline::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

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

/// Images of zeros, but for one value of step 1 that is not a number.
class BrokenSource final : public BatchSource {
 public:
  [[nodiscard]] std::int64_t samples() const override { return 1000; }
  void load(std::int64_t first, std::span<float> images, std::span<std::int32_t> labels) override {
    std::fill(images.begin(), images.end(), 0.0F);
    std::fill(labels.begin(), labels.end(), 0);
    if (first > 0) images[5] = std::numeric_limits<float>::quiet_NaN();
  }
};

template <class Run>
std::string error_of(const Run& run) {
  try {
    run();
  } catch (const core::RunError& error) {
    return error.what();
  }
  return "no error";
}

TEST(NotFinite, a_value_of_the_data_is_found_where_it_entered) {
  const models::Experiment experiment = tiny_experiment();
  const models::Program program = models::lower_training(experiment, 0);
  Storage<float> storage(program, FreshMemory::poisoned);
  fill_initial_weights(program, 3, storage);
  BrokenSource source;
  const auto single = make_single_communicator();
  StepExecutor executor(program, storage, *single, source, nullptr, 0, 2);
  StepRecord record;
  executor.run_step(0, record);
  // The images themselves are not kept; their patches are, for the weight's gradient.
  EXPECT_THAT(error_of([&] { executor.run_step(1, record); }),
              AllOf(StartsWith("the loss of step 1 is "), HasSubstr("nan"),
                    HasSubstr("the first tensor that is not finite is activations"),
                    HasSubstr("patchify"), HasSubstr("lower /training/learning_rate")));
}

TEST(NotFinite, a_learning_rate_that_is_too_high_ends_the_run_at_a_parameter) {
  TrainSettings settings;
  settings.experiment = tiny_experiment();
  settings.experiment.training.learning_rate = 1e30;
  const auto single = make_single_communicator();
  // After step 0 parameters are ± 1e30, whose products overflow in step 1 or 2.
  EXPECT_THAT(error_of([&] { static_cast<void>(train(*single, settings)); }),
              AllOf(StartsWith("the loss of step "), HasSubstr("is not finite is ")));
}

}  // namespace
}  // namespace paceline::runtime
