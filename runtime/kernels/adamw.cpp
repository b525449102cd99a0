#include "runtime/kernels/adamw.hpp"

#include <cmath>

#include "runtime/kernels/blocks.hpp"

namespace paceline::runtime::kernels {
namespace {

/// What is the same for all elements, computed in double as torch does.
template <class Scalar>
struct Factors {
  Factors(const models::OptimizerSettings& settings, std::int64_t step)
      : keep(static_cast<Scalar>(1.0 - settings.learning_rate * settings.weight_decay)),
        first_share(static_cast<Scalar>(1.0 - settings.beta1)),
        beta2(static_cast<Scalar>(settings.beta2)),
        second_share(static_cast<Scalar>(1.0 - settings.beta2)),
        epsilon(static_cast<Scalar>(settings.epsilon)) {
    const auto t = static_cast<double>(step);
    step_size = static_cast<Scalar>(settings.learning_rate / (1.0 - std::pow(settings.beta1, t)));
    root_correction = static_cast<Scalar>(1.0 / std::sqrt(1.0 - std::pow(settings.beta2, t)));
  }
  Scalar keep, first_share, beta2, second_share, epsilon;
  Scalar step_size{}, root_correction{};
};

template <class Scalar>
void update(const Factors<Scalar>& factors, const Scalar* gradients, std::int64_t begin,
            std::int64_t end, Scalar* parameters, Scalar* first, Scalar* second) {
  const Factors<Scalar> f = factors;
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const Scalar g = gradients[i];
    const Scalar m = first[i] + f.first_share * (g - first[i]);
    const Scalar v = f.beta2 * second[i] + f.second_share * (g * g);
    const Scalar denominator = std::sqrt(v) * f.root_correction + f.epsilon;
    first[i] = m;
    second[i] = v;
    parameters[i] = parameters[i] * f.keep - f.step_size * (m / denominator);
  }
}

}  // namespace

template <class Scalar>
void adamw(const models::ElementsShape& shape, const models::OptimizerSettings& settings,
           std::int64_t step, std::span<const Scalar> gradients, std::span<Scalar> parameters,
           std::span<Scalar> first_moment, std::span<Scalar> second_moment,
           models::WorkCount& count) {
  require_size("adamw", "gradients", gradients, shape.elements);
  require_size("adamw", "parameters", parameters, shape.elements);
  require_size("adamw", "first_moment", first_moment, shape.elements);
  require_size("adamw", "second_moment", second_moment, shape.elements);
  if (step < 1) {
    throw core::InvariantError("adamw: got step " + std::to_string(step) + " (must be > 0)");
  }
  const Factors<Scalar> factors(settings, step);
  for_each_block(shape.elements, elements_per_block, [&](std::int64_t begin, std::int64_t end) {
    update(factors, gradients.data(), begin, end, parameters.data(), first_moment.data(),
           second_moment.data());
  });
  ++count.calls;
  count_read(count, gradients);
  count_updated(count, Write::add, parameters, first_moment, second_moment);
}

template decltype(adamw<float>) adamw<float>;
template decltype(adamw<double>) adamw<double>;

}  // namespace paceline::runtime::kernels
