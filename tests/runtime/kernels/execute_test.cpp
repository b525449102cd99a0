#include "runtime/kernels/execute.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernel_case.hpp"
#include "models/lowering/lowering.hpp"
#include "training_run.hpp"

/// Do whole Programs keep what single kernels promise?
namespace paceline::runtime::kernels {
namespace {

using core::OperationKind;

models::VitArchitecture with_tanh(models::VitArchitecture model) {
  model.gelu = core::GeluForm::tanh;
  return model;
}

class FiniteDifferences : public testing::TestWithParam<core::GeluForm> {};

TEST_P(FiniteDifferences, agree_with_the_gradient_in_twenty_random_directions) {
  models::VitArchitecture model = small_model();
  model.gelu = GetParam();
  TrainingRun<double> run(experiment_of(model, 3, 1));
  const Batch batch = random_batch(model, 3, 1);
  run.fill_random_parameters(2);
  run.run_gradients(batch);
  const std::size_t parameters = run.program().parameters.size();
  std::vector<std::vector<double>> gradient;
  for (std::size_t i = 0; i < parameters; ++i) gradient.push_back(as_doubles(run.gradient(i)));

  const auto move = [&](const std::vector<std::vector<double>>& direction, double by) {
    for (std::size_t i = 0; i < parameters; ++i) {
      const auto values = run.parameter(i);
      for (std::size_t j = 0; j < values.size(); ++j) values[j] += by * direction[i][j];
    }
  };
  const auto loss_at = [&](const std::vector<std::vector<double>>& direction, double distance) {
    move(direction, distance);
    run.run_gradients(batch);
    move(direction, -distance);
    return run.loss();
  };
  constexpr double h = 1e-5;  // truncation and rounding both stay near 1e-8
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    core::Random random(seed);
    std::vector<std::vector<double>> direction = gradient;
    double slope = 0;
    for (std::size_t i = 0; i < parameters; ++i) {
      for (std::size_t j = 0; j < direction[i].size(); ++j) {
        direction[i][j] = random.normal();
        slope += direction[i][j] * gradient[i][j];
      }
    }
    const double difference = (loss_at(direction, h) - loss_at(direction, -h)) / (2 * h);
    EXPECT_NEAR(difference, slope, 1e-6 * std::abs(slope)) << "direction " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(GeluForms, FiniteDifferences,
                         testing::Values(core::GeluForm::exact, core::GeluForm::tanh));

TEST(Accumulation, of_two_micro_steps_of_two_images_is_one_of_four) {
  const models::VitArchitecture model = small_model();
  const Batch batch = random_batch(model, 4, 1);
  TrainingRun<float> whole(experiment_of(model, 4, 1));
  TrainingRun<float> halves(experiment_of(model, 2, 2));
  whole.fill_random_parameters(2);
  halves.fill_random_parameters(2);
  // Twice: the second step must not add to what the first has left.
  for (int i = 0; i < 2; ++i) {
    whole.run_gradients(batch);
    halves.run_gradients(batch);
  }
  EXPECT_NEAR(halves.loss(), whole.loss(), 1e-6);
  for (std::size_t i = 0; i < whole.program().parameters.size(); ++i) {
    const auto expected = as_doubles(whole.gradient(i));
    const auto ours = as_doubles(halves.gradient(i));
    double largest_difference = 0;
    for (std::size_t j = 0; j < ours.size(); ++j) {
      largest_difference = std::max(largest_difference, std::abs(ours[j] - expected[j]));
    }
    EXPECT_LT(largest_difference, 1e-6) << whole.program().at(whole.program().gradients[i]).name();
  }
}

TEST(Accumulation, in_double_is_exact_to_its_rounding) {
  const models::VitArchitecture model = small_model();
  const Batch batch = random_batch(model, 4, 1);
  TrainingRun<double> whole(experiment_of(model, 4, 1));
  TrainingRun<double> quarters(experiment_of(model, 1, 4));
  whole.fill_random_parameters(2);
  quarters.fill_random_parameters(2);
  whole.run_gradients(batch);
  quarters.run_gradients(batch);
  for (std::size_t i = 0; i < whole.program().parameters.size(); ++i) {
    const auto expected = as_doubles(whole.gradient(i));
    const auto ours = as_doubles(quarters.gradient(i));
    for (std::size_t j = 0; j < ours.size(); ++j) EXPECT_NEAR(ours[j], expected[j], 1e-15);
  }
}

TEST(Step, is_the_same_for_one_and_two_threads) {
  models::VitArchitecture model = small_model();
  model.image_size = 15;  // 26 tokens
  model.width = 48;
  model.mlp_hidden = 192;
  const Batch batch = random_batch(model, 24, 1);
  expect_equal_for_one_and_two_threads([&] {
    TrainingRun<float> run(experiment_of(model, 12, 2));
    run.fill_random_parameters(2);
    run.run_step(batch, 1);
    run.run_step(batch, 2);
    std::vector<std::vector<double>> results{{run.loss()}};
    for (std::size_t i = 0; i < run.program().parameters.size(); ++i) {
      results.push_back(as_doubles(run.gradient(i)));
      results.push_back(as_doubles(run.parameter(i)));
    }
    return results;
  });
}

void expect_counted_as_stated(const models::Program& program, const models::WorkByKind& counted) {
  const models::WorkByKind stated = models::work_by_kind(program);
  for (std::size_t i = 0; i < core::count_of<OperationKind>; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    if (kind == OperationKind::load_batch || kind == OperationKind::all_reduce) continue;
    const models::WorkCount& expected = stated[kind];
    EXPECT_EQ(counted[kind].calls, expected.calls) << core::spelling(kind);
    EXPECT_EQ(counted[kind].flops.value(), expected.flops.value()) << core::spelling(kind);
    EXPECT_EQ(counted[kind].bytes_read.value(), expected.bytes_read.value())
        << core::spelling(kind);
    EXPECT_EQ(counted[kind].bytes_written.value(), expected.bytes_written.value())
        << core::spelling(kind);
  }
}

TEST(CountedWork, is_what_the_program_states) {
  for (const std::int64_t accumulation_steps : {1, 3}) {
    for (const auto& model : {small_model(), with_tanh(small_model())}) {
      TrainingRun<float> run(experiment_of(model, 2, accumulation_steps));
      const Batch batch = random_batch(model, 2 * accumulation_steps, 1);
      expect_counted_as_stated(run.program(), run.run_step(batch, 1));
    }
  }
}

models::Experiment with_everything(std::int64_t accumulation_steps) {
  models::VitArchitecture model = small_model();
  model.class_token = false;
  models::Experiment experiment = experiment_of(model, 2, accumulation_steps);
  experiment.training.optimizer = core::OptimizerKind::sgd;
  experiment.training.clip_norm = 0.01;
  experiment.training.activation_checkpointing = core::ActivationCheckpointing::full;
  return experiment;
}

TEST(CountedWork, is_what_the_program_states_with_sgd_clipping_checkpoints_and_mean_pooling) {
  for (const std::int64_t accumulation_steps : {1, 3}) {
    const models::Experiment experiment = with_everything(accumulation_steps);
    TrainingRun<float> run(experiment);
    const Batch batch = random_batch(experiment.model, 2 * accumulation_steps, 1);
    const models::WorkByKind counted = run.run_step(batch, 1);
    for (const auto kind :
         {OperationKind::sgd, OperationKind::gradient_norm, OperationKind::clip_coefficient,
          OperationKind::scale, OperationKind::mean_pool, OperationKind::mean_pool_gradient}) {
      EXPECT_GT(counted[kind].calls, 0) << core::spelling(kind);
    }
    expect_counted_as_stated(run.program(), counted);
  }
}

TEST(Checkpointing, gives_the_gradients_of_none_bit_by_bit) {
  for (const std::int64_t accumulation_steps : {1, 2}) {
    models::Experiment experiment = experiment_of(small_model(), 3, accumulation_steps);
    TrainingRun<float> kept(experiment);
    experiment.training.activation_checkpointing = core::ActivationCheckpointing::full;
    TrainingRun<float> recomputed(experiment);
    ASSERT_GT(recomputed.program().operations.size(), kept.program().operations.size());
    const Batch batch = random_batch(experiment.model, 3 * accumulation_steps, 1);
    kept.fill_random_parameters(2);
    recomputed.fill_random_parameters(2);
    for (std::int64_t step = 1; step <= 2; ++step) {
      kept.run_step(batch, step);
      recomputed.run_step(batch, step);
      EXPECT_EQ(kept.loss(), recomputed.loss());
      for (std::size_t i = 0; i < kept.program().parameters.size(); ++i) {
        EXPECT_EQ(as_doubles(kept.gradient(i)), as_doubles(recomputed.gradient(i)));
        EXPECT_EQ(as_doubles(kept.parameter(i)), as_doubles(recomputed.parameter(i)));
      }
    }
  }
}

TEST(CountedWork, gives_away_a_skipped_bias_gradient) {
  const models::VitArchitecture model = small_model();
  TrainingRun<float> run(experiment_of(model, 2, 1));
  bool skipped = false;
  const models::WorkByKind counted =
      run.run(random_batch(model, 2, 1), 1, [&](const models::Operation& operation) {
        if (skipped || operation.kind != OperationKind::bias_gradient) return true;
        skipped = true;
        return false;
      });
  ASSERT_TRUE(skipped);
  const models::WorkByKind stated = models::work_by_kind(run.program());
  for (std::size_t i = 0; i < core::count_of<OperationKind>; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    if (kind == OperationKind::load_batch) continue;
    EXPECT_EQ(counted[kind] == stated[kind], kind != OperationKind::bias_gradient)
        << core::spelling(kind);
  }
}

TEST(Execute, leaves_operations_of_the_interpreter_to_it) {
  const models::Program program = models::lower_training(experiment_of(small_model(), 2, 1), 0);
  Storage<float> storage(program);
  models::WorkByKind counted;
  EXPECT_THAT([&] { execute<float>(program, program.operations[0], storage, 1, counted); },
              testing::ThrowsMessage<core::InvariantError>(
                  "operation data.m0.load_batch is no kernel (the interpreter executes "
                  "load_batch)"));
  models::Operation collective = program.operations[0];
  collective.kind = OperationKind::all_reduce;
  EXPECT_THROW(execute<float>(program, collective, storage, 1, counted), core::InvariantError);
}

TEST(Execute, refuses_a_shape_of_another_kind) {
  const models::Program program = models::lower_training(experiment_of(small_model(), 2, 1), 0);
  Storage<float> storage(program);
  models::WorkByKind counted;
  models::Operation operation = program.operations[1];
  operation.shape = models::ElementsShape{1};
  EXPECT_THAT([&] { execute<float>(program, operation, storage, 1, counted); },
              testing::ThrowsMessage<core::InvariantError>(
                  "operation forward.m0.patchify has the shape of another kind than patchify"));
}

TEST(Execute, refuses_operands_that_do_not_fit_the_shape) {
  const models::Program program = models::lower_training(experiment_of(small_model(), 2, 1), 0);
  Storage<float> storage(program);
  models::WorkByKind counted;
  models::Operation operation = program.operations[1];
  std::get<models::PatchShape>(operation.shape).images = 3;
  // 3 images of 2 channels, 6 × 6, into a tensor for 2.
  expect_size_fault([&] { execute<float>(program, operation, storage, 1, counted); }, "patchify",
                    "images", 2 * 72, 3 * 72);
}

TEST(Threads, must_be_at_least_one) {
  EXPECT_THAT([] { set_thread_count(0); }, testing::ThrowsMessage<core::InvariantError>(
                                               "kernels are asked to use 0 threads (must be > 0)"));
}

}  // namespace
}  // namespace paceline::runtime::kernels
