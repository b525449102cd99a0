// Several ranks give what one rank gives that takes all images: started by mpirun, rank 0 judges.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

#include "core/error.hpp"
#include "models/lowering/lowering.hpp"
#include "runtime/comm/numbers.hpp"
#include "runtime/training/initial_weights.hpp"
#include "runtime/training/step_executor.hpp"

namespace paceline::runtime {
namespace {

models::Experiment small_experiment(std::vector<std::int64_t> micro_batch, std::int64_t ranks,
                                    std::int64_t accumulation, bool overlap) {
  models::Experiment experiment;
  experiment.model = {.id = "small",
                      .image_size = 16,
                      .patch_size = 4,
                      .width = 96,
                      .depth = 3,
                      .heads = 4,
                      .mlp_hidden = 384,
                      .classes = 10};
  experiment.training.micro_batch = std::move(micro_batch);
  experiment.training.accumulation_steps = accumulation;
  experiment.parallel = {.world_size = ranks, .bucket_mib = 1, .overlap = overlap};
  return experiment;
}

struct Outcome {
  std::vector<double> gradients;   // after the first step
  std::vector<double> parameters;  // after two steps
  double loss = 0;                 // this rank's part of it, first step
  std::size_t collectives = 0;
};

Outcome run(const models::Experiment& experiment, int rank, Communicator& communicator) {
  const models::Program program = models::lower_training(experiment, rank);
  Storage<float> storage(program, FreshMemory::poisoned);
  const auto source = make_synthetic_source(experiment.model, 7);
  fill_initial_weights(program, 3, storage);
  std::int64_t before = 0;
  std::int64_t all = 0;
  for (int other = 0; other < experiment.parallel.world_size; ++other) {
    if (other < rank) before += experiment.micro_batch_of(other);
    all += experiment.micro_batch_of(other);
  }
  StepExecutor executor(program, storage, communicator, *source, nullptr, before, all);
  StepRecord record;
  Outcome outcome;
  const auto collect = [&](const std::vector<models::TensorId>& ids) {
    std::vector<double> values;
    for (const models::TensorId id : ids) {
      const auto part = storage.values(id);
      values.insert(values.end(), part.begin(), part.end());
    }
    return values;
  };
  executor.run_step(0, record);
  outcome.loss = record.loss;
  outcome.gradients = collect(program.gradients);
  executor.run_step(1, record);
  outcome.parameters = collect(program.parameters);
  const models::WorkByKind expected = models::work_by_kind(program);
  if (!(record.counted == expected)) {
    throw core::RunError("the work counted on rank " + std::to_string(rank) +
                         " is not the Program's");
  }
  outcome.collectives =
      static_cast<std::size_t>(expected[core::OperationKind::all_reduce].calls);
  return outcome;
}

double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b.at(i)) * (a[i] - b.at(i));
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

/// The worst difference of any rank, told by rank 0.
bool judge(Communicator& communicator, const std::string& what, double difference, double limit) {
  const auto all = gather_numbers(communicator, {difference});
  bool good = true;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const bool within = all[rank].front() <= limit;  // false for NaN
    good = good && within;
    std::cout << what << ", rank " << rank << ": " << all[rank].front() << " (limit " << limit
              << ")" << (within ? "" : "  FAILED") << "\n";
  }
  return broadcast_numbers(communicator, {good ? 1.0 : 0.0}).front() > 0.5;
}

/// fp32 sums of the same numbers in another order: some units in the last place of each.
constexpr double rounding = 2e-6;
/// AdamW divides a gradient by its own size, so that rounding near zero grows in the parameters.
constexpr double rounding_after_adamw = 2e-4;

bool same_as_one_rank(Communicator& communicator, const models::Experiment& many,
                      const models::Experiment& one) {
  const Outcome mine = run(many, communicator.rank(), communicator);
  const auto single = make_single_communicator();
  const Outcome reference = run(one, 0, *single);
  if (mine.collectives < 2) throw core::RunError("the case must have several buckets");
  double loss = 0;
  for (const auto& part : gather_numbers(communicator, {mine.loss})) loss += part.front();
  loss = broadcast_numbers(communicator, {loss}).front();
  bool good = judge(communicator, "gradients",
                    relative_difference(mine.gradients, reference.gradients), rounding);
  good = judge(communicator, "parameters after two steps",
               relative_difference(mine.parameters, reference.parameters),
               rounding_after_adamw) &&
         good;
  return judge(communicator, "loss", std::abs(loss / reference.loss - 1.0), rounding) && good;
}

bool overlap_changes_nothing(Communicator& communicator) {
  const Outcome on = run(small_experiment({4}, 2, 2, true), communicator.rank(), communicator);
  const Outcome off = run(small_experiment({4}, 2, 2, false), communicator.rank(), communicator);
  return judge(communicator, "gradients", relative_difference(on.gradients, off.gradients), 0.0);
}

bool run_case(const std::string& name, Communicator& communicator) {
  if (name == "two_equal_ranks") {
    return same_as_one_rank(communicator, small_experiment({4}, 2, 1, true),
                            small_experiment({8}, 1, 1, true));
  }
  if (name == "uneven_ranks") {
    return same_as_one_rank(communicator, small_experiment({3, 5}, 2, 1, true),
                            small_experiment({8}, 1, 1, true));
  }
  if (name == "accumulation") {  // 2 ranks × 2 images × 2 micro-steps
    return same_as_one_rank(communicator, small_experiment({2}, 2, 2, false),
                            small_experiment({8}, 1, 1, false));
  }
  if (name == "three_ranks") {
    return same_as_one_rank(communicator, small_experiment({1, 2, 5}, 3, 1, true),
                            small_experiment({8}, 1, 1, true));
  }
  if (name == "overlap_is_exact") return overlap_changes_nothing(communicator);
  throw core::RunError("no case " + name);
}

}  // namespace
}  // namespace paceline::runtime

int main(int argc, char** argv) {
  try {
    const auto communicator = paceline::runtime::make_communicator();
    return argc == 2 && paceline::runtime::run_case(argv[1], *communicator) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    std::_Exit(1);
  }
}
