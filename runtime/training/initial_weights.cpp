#include "runtime/training/initial_weights.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/random.hpp"

namespace paceline::runtime {
namespace {

constexpr double weight_deviation = 0.02;
constexpr double class_token_deviation = 1e-6;

double cut_normal(core::Random& random) {
  double value = random.normal();
  while (std::abs(value) > 2.0) value = random.normal();
  return value;
}

void fill_one(const models::ParameterSpec& spec, const models::VitArchitecture& model,
              core::Random& random, std::span<float> values) {
  const bool is_bias = spec.role.ends_with("bias");
  const bool is_norm = spec.role.starts_with("norm");
  const auto generate = [&](auto&& make) {
    std::generate(values.begin(), values.end(), [&] { return static_cast<float>(make()); });
  };
  if (spec.role == "cls_token") {
    generate([&] { return class_token_deviation * random.normal(); });
  } else if (spec.role == "pos_embed") {
    generate([&] { return weight_deviation * cut_normal(random); });
  } else if (spec.role.starts_with("patch_embed")) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(model.patch_values()));
    generate([&] { return bound * (2.0 * random.uniform() - 1.0); });
  } else if (is_norm && !is_bias) {
    std::fill(values.begin(), values.end(), 1.0F);
  } else if (is_bias) {
    std::fill(values.begin(), values.end(), 0.0F);
  } else {
    generate([&] { return weight_deviation * cut_normal(random); });
  }
}

}  // namespace

void fill_initial_weights(const models::Program& program, std::uint64_t seed,
                          Storage<float>& storage) {
  core::Random random(seed);
  const auto specs = models::parameters_of(program.architecture);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    fill_one(specs[i], program.architecture, random, storage.values(program.parameters.at(i)));
  }
}

void copy_parameters(const models::Program& from_program, const Storage<float>& from,
                     const models::Program& to_program, Storage<float>& to) {
  if (from_program.parameters.size() != to_program.parameters.size()) {
    throw core::InvariantError("parameters of two different models are copied");
  }
  for (std::size_t i = 0; i < from_program.parameters.size(); ++i) {
    const auto source = from.values(from_program.parameters[i]);
    const auto target = to.values(to_program.parameters[i]);
    std::copy(source.begin(), source.end(), target.begin());
  }
}

}  // namespace paceline::runtime
