#include "training_run.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/random.hpp"
#include "models/lowering/lowering.hpp"
#include "runtime/kernels/execute.hpp"

namespace paceline::runtime::kernels {

models::VitArchitecture small_model() {
  models::VitArchitecture model;
  model.image_size = 6;
  model.patch_size = 3;
  model.channels = 2;
  model.width = 12;
  model.depth = 2;
  model.heads = 3;
  model.mlp_hidden = 20;
  model.classes = 5;
  return model;
}

models::Experiment experiment_of(const models::VitArchitecture& model, std::int64_t micro_batch,
                                 std::int64_t accumulation_steps) {
  models::Experiment experiment;
  experiment.model = model;
  experiment.training.micro_batch = {micro_batch};
  experiment.training.accumulation_steps = accumulation_steps;
  return experiment;
}

Batch random_batch(const models::VitArchitecture& model, std::int64_t images, std::uint64_t seed) {
  core::Random random(seed);
  Batch batch;
  batch.images.resize(
      static_cast<std::size_t>(images * model.channels * model.image_size * model.image_size));
  batch.labels.resize(static_cast<std::size_t>(images));
  std::generate(batch.images.begin(), batch.images.end(), [&] { return random.normal(); });
  std::generate(batch.labels.begin(), batch.labels.end(), [&] {
    return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(model.classes)));
  });
  return batch;
}

template <class Scalar>
TrainingRun<Scalar>::TrainingRun(const models::Experiment& experiment)
    : program_(models::lower_training(experiment, 0)), storage_(program_, FreshMemory::poisoned) {}

template <class Scalar>
std::span<Scalar> TrainingRun<Scalar>::parameter(std::size_t index) {
  return storage_.values(program_.parameters.at(index));
}

template <class Scalar>
std::span<Scalar> TrainingRun<Scalar>::gradient(std::size_t index) {
  return storage_.values(program_.gradients.at(index));
}

template <class Scalar>
double TrainingRun<Scalar>::loss() const {
  for (std::size_t i = 0; i < program_.tensors.size(); ++i) {
    if (program_.tensors[i].role == "loss" && program_.tensors[i].persistent) {
      return static_cast<double>(storage_.values(models::TensorId(i)).front());
    }
  }
  throw std::logic_error("the Program has no loss");
}

template <class Scalar>
void TrainingRun<Scalar>::fill_random_parameters(std::uint64_t seed) {
  core::Random random(seed);
  for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
    const auto values = parameter(i);
    std::generate(values.begin(), values.end(),
                  [&] { return static_cast<Scalar>(0.1 * random.normal()); });
  }
}

template <class Scalar>
models::WorkByKind TrainingRun<Scalar>::run(const Batch& batch, std::int64_t optimizer_step,
                                            const Choice& chosen) {
  models::WorkByKind counted;
  for (const models::Operation& operation : program_.operations) {
    if (!chosen(operation)) continue;
    if (operation.kind == core::OperationKind::load_batch) {
      load_batch(operation, batch);
    } else {
      execute<Scalar>(program_, operation, storage_, optimizer_step, counted);
    }
  }
  return counted;
}

template <class Scalar>
models::WorkByKind TrainingRun<Scalar>::run_step(const Batch& batch, std::int64_t optimizer_step) {
  return run(batch, optimizer_step, [](const models::Operation&) { return true; });
}

template <class Scalar>
models::WorkByKind TrainingRun<Scalar>::run_gradients(const Batch& batch) {
  return run(batch, 1, [](const models::Operation& operation) {
    return operation.phase != core::Phase::optimizer;
  });
}

template <class Scalar>
void TrainingRun<Scalar>::load_batch(const models::Operation& operation, const Batch& batch) {
  const auto images = storage_.values(operation.outputs[0]);
  const auto labels = storage_.integers(operation.outputs[1]);
  const auto part = static_cast<std::size_t>(operation.micro_step);
  const auto from = std::span(batch.images).subspan(part * images.size(), images.size());
  std::transform(from.begin(), from.end(), images.begin(),
                 [](double value) { return static_cast<Scalar>(value); });
  const auto from_labels = std::span(batch.labels).subspan(part * labels.size(), labels.size());
  std::copy(from_labels.begin(), from_labels.end(), labels.begin());
}

template class TrainingRun<float>;
template class TrainingRun<double>;

double norm_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

double relative_distance(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw std::invalid_argument("vectors of two sizes are compared");
  std::vector<double> difference(a.size());
  std::transform(a.begin(), a.end(), b.begin(), difference.begin(), std::minus<>());
  return norm_of(difference) / norm_of(b);
}

}  // namespace paceline::runtime::kernels
