#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/experiment.hpp"
#include "models/program.hpp"
#include "runtime/training/storage.hpp"

/// A training step without an interpreter: what the kernels' tests need to run a whole Program.
namespace paceline::runtime::kernels {

/// Images and labels of a whole step, micro-step after micro-step.
struct Batch {
  std::vector<double> images;
  std::vector<std::int32_t> labels;
};

/// Two blocks, 5 tokens, odd sizes.
[[nodiscard]] models::VitArchitecture small_model();

/// One rank. `micro_batch` images in each of `accumulation_steps` micro-steps.
[[nodiscard]] models::Experiment experiment_of(const models::VitArchitecture& model,
                                               std::int64_t micro_batch,
                                               std::int64_t accumulation_steps);

[[nodiscard]] Batch random_batch(const models::VitArchitecture& model, std::int64_t images,
                                 std::uint64_t seed);

/// A Program of one rank and its memory, poisoned before the first step.
template <class Scalar>
class TrainingRun {
 public:
  using Choice = std::function<bool(const models::Operation&)>;

  explicit TrainingRun(const models::Experiment& experiment);

  [[nodiscard]] const models::Program& program() const { return program_; }

  /// Parameter number `index` of the architecture, and its gradient.
  [[nodiscard]] std::span<Scalar> parameter(std::size_t index);
  [[nodiscard]] std::span<Scalar> gradient(std::size_t index);
  /// The loss that the last step left.
  [[nodiscard]] double loss() const;

  /// N(0, 0.1) in every parameter.
  void fill_random_parameters(std::uint64_t seed);

  /// Executes, in order, the operations for which `chosen` holds; each micro-step's load_batch
  /// takes the next part of the batch. Returns what the kernels counted.
  models::WorkByKind run(const Batch& batch, std::int64_t optimizer_step, const Choice& chosen);
  /// The whole step.
  models::WorkByKind run_step(const Batch& batch, std::int64_t optimizer_step);
  /// Forward and backward pass, without the optimizer.
  models::WorkByKind run_gradients(const Batch& batch);

 private:
  void load_batch(const models::Operation& operation, const Batch& batch);

  models::Program program_;
  Storage<Scalar> storage_;
};

extern template class TrainingRun<float>;
extern template class TrainingRun<double>;

template <class T>
[[nodiscard]] std::vector<double> as_doubles(std::span<const T> values) {
  return {values.begin(), values.end()};
}
template <class T>
[[nodiscard]] std::vector<double> as_doubles(std::span<T> values) {
  return {values.begin(), values.end()};
}

[[nodiscard]] double norm_of(std::span<const double> values);

/// ‖a - b‖ / ‖b‖. Throws `std::invalid_argument` if the sizes differ.
[[nodiscard]] double relative_distance(std::span<const double> a, std::span<const double> b);

}  // namespace paceline::runtime::kernels
