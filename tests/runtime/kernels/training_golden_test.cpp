#include <gtest/gtest.h>

#include <algorithm>

#include "golden.hpp"
#include "models/architecture.hpp"

/// Does a training step compute what timm and PyTorch compute?
namespace paceline::runtime::kernels {
namespace {

/// Fills a run's parameters with timm's.
template <class Scalar>
TrainingRun<Scalar> started_run(const Golden& golden) {
  TrainingRun<Scalar> run(golden.experiment());
  const auto specs = models::parameters_of(golden.experiment().model);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::vector<double> values = golden.tensor("parameters/" + specs[i].name());
    const auto target = run.parameter(i);
    EXPECT_EQ(values.size(), target.size()) << specs[i].name();
    std::transform(values.begin(), values.end(), target.begin(),
                   [](double value) { return static_cast<Scalar>(value); });
  }
  return run;
}

bool is_qkv_bias(const models::ParameterSpec& spec) { return spec.role == "attn.qkv.bias"; }

/// qkv.bias in its three parts; every other tensor whole.
std::vector<std::pair<std::string, std::vector<double>>> parts_of(
    const models::ParameterSpec& spec, const std::vector<double>& values) {
  if (!is_qkv_bias(spec)) return {{spec.name(), values}};
  const auto third = static_cast<std::ptrdiff_t>(values.size() / 3);
  const auto part = [&](std::ptrdiff_t i) {
    return std::vector(values.begin() + i * third, values.begin() + (i + 1) * third);
  };
  return {{spec.name() + " query", part(0)},
          {spec.name() + " key", part(1)},
          {spec.name() + " value", part(2)}};
}

/// Compares parameter by parameter. The key part of qkv.bias shifts all scores of a query alike, so
/// its gradient is zero and AdamW turns rounding into steps: `compare` does not see it.
template <class Compare>
void for_each_part(const models::ParameterSpec& spec, const std::vector<double>& ours,
                   const std::vector<double>& reference, const Compare& compare) {
  const auto our_parts = parts_of(spec, ours);
  const auto reference_parts = parts_of(spec, reference);
  for (std::size_t i = 0; i < our_parts.size(); ++i) {
    if (our_parts[i].first.ends_with(" key")) continue;
    compare(our_parts[i].first, our_parts[i].second, reference_parts[i].second);
  }
}

template <class Scalar>
void expect_gradients(const Golden& golden, const std::string& prefix, double tolerance,
                      double key_tolerance) {
  TrainingRun<Scalar> run = started_run<Scalar>(golden);
  run.run_gradients(golden.batch());
  const auto specs = models::parameters_of(golden.experiment().model);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::vector<double> ours = as_doubles(run.gradient(i));
    const std::vector<double> reference = golden.tensor(prefix + specs[i].name());
    for_each_part(specs[i], ours, reference,
                  [&](const std::string& name, const auto& a, const auto& b) {
                    EXPECT_LE(relative_distance(a, b), tolerance) << name;
                  });
    if (is_qkv_bias(specs[i])) {
      const auto parts = parts_of(specs[i], ours);
      EXPECT_LT(norm_of(parts[1].second), key_tolerance * norm_of(parts[2].second))
          << specs[i].name();
    }
  }
}

class TrainingGolden : public testing::TestWithParam<const char*> {};

TEST_P(TrainingGolden, loss_is_timms) {
  const Golden golden(GetParam());
  TrainingRun<float> run = started_run<float>(golden);
  run.run_gradients(golden.batch());
  EXPECT_NEAR(run.loss(), golden.losses()[0], 1e-5 * golden.losses()[0]);
}

TEST_P(TrainingGolden, gradients_are_timms) {
  expect_gradients<float>(Golden(GetParam()), "gradients/", 1e-4, 1e-5);
}

TEST_P(TrainingGolden, gradients_in_double_are_timms_in_double) {
  expect_gradients<double>(Golden(GetParam()), "gradients_fp64/", 1e-10, 1e-12);
}

TEST_P(TrainingGolden, ten_optimizer_steps_go_where_torch_goes) {
  const Golden golden(GetParam());
  TrainingRun<float> run = started_run<float>(golden);
  for (std::size_t step = 0; step < golden.losses().size(); ++step) {
    run.run_step(golden.batch(), static_cast<std::int64_t>(step) + 1);
    EXPECT_NEAR(run.loss(), golden.losses()[step], 1e-5 * golden.losses()[step])
        << "before step " << step + 1;
  }
  const auto specs = models::parameters_of(golden.experiment().model);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    for_each_part(specs[i], as_doubles(run.parameter(i)),
                  golden.tensor("after_10_steps/" + specs[i].name()),
                  [](const std::string& name, const auto& a, const auto& b) {
                    EXPECT_LE(relative_distance(a, b), 1e-4) << name;
                  });
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingGolden,
                         testing::Values("tiny_erf", "odd_shapes", "sgd_clipped", "mean_pool"),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
}  // namespace paceline::runtime::kernels
