#include "runtime/kernels/sgd.hpp"

#include "runtime/kernels/blocks.hpp"

namespace paceline::runtime::kernels {
namespace {

template <class Scalar>
struct Factors {
  explicit Factors(const SgdSettings& settings)
      : learning_rate(static_cast<Scalar>(settings.learning_rate)),
        momentum(static_cast<Scalar>(settings.momentum)),
        weight_decay(static_cast<Scalar>(settings.weight_decay)) {}
  Scalar learning_rate, momentum, weight_decay;
};

template <class Scalar>
void update(const Factors<Scalar>& factors, const Scalar* gradients, std::int64_t begin,
            std::int64_t end, Scalar* parameters) {
  const Factors<Scalar> f = factors;
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const Scalar g = gradients[i] + f.weight_decay * parameters[i];
    parameters[i] -= f.learning_rate * g;
  }
}

template <class Scalar>
void update_with_momentum(const Factors<Scalar>& factors, const Scalar* gradients,
                          std::int64_t begin, std::int64_t end, Scalar* parameters,
                          Scalar* velocity) {
  const Factors<Scalar> f = factors;
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const Scalar g = gradients[i] + f.weight_decay * parameters[i];
    const Scalar v = f.momentum * velocity[i] + g;
    velocity[i] = v;
    parameters[i] -= f.learning_rate * v;
  }
}

}  // namespace

template <class Scalar>
void sgd(const models::ElementsShape& shape, const SgdSettings& settings,
         std::span<const Scalar> gradients, std::span<Scalar> parameters,
         std::span<Scalar> velocity, models::WorkCount& count) {
  require_size("sgd", "gradients", gradients, shape.elements);
  require_size("sgd", "parameters", parameters, shape.elements);
  const bool has_momentum = settings.momentum > 0;
  require_size("sgd", "velocity", velocity, has_momentum ? shape.elements : 0);
  const Factors<Scalar> factors(settings);
  for_each_block(shape.elements, elements_per_block, [&](std::int64_t begin, std::int64_t end) {
    if (has_momentum) {
      update_with_momentum(factors, gradients.data(), begin, end, parameters.data(),
                           velocity.data());
    } else {
      update(factors, gradients.data(), begin, end, parameters.data());
    }
  });
  ++count.calls;
  count_read(count, gradients);
  count_updated(count, Write::add, parameters, velocity);
}

template decltype(sgd<float>) sgd<float>;
template decltype(sgd<double>) sgd<double>;

}  // namespace paceline::runtime::kernels
