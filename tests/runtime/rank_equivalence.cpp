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
  experiment.parallel = {
      .given_world_size = {}, .world_size = ranks, .bucket_mib = 1, .overlap = overlap};
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
  outcome.collectives = static_cast<std::size_t>(expected[core::OperationKind::all_reduce].calls);
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
               relative_difference(mine.parameters, reference.parameters), rounding_after_adamw) &&
         good;
  return judge(communicator, "loss", std::abs(loss / reference.loss - 1.0), rounding) && good;
}

bool overlap_changes_nothing(Communicator& communicator) {
  const Outcome on = run(small_experiment({4}, 2, 2, true), communicator.rank(), communicator);
  const Outcome off = run(small_experiment({4}, 2, 2, false), communicator.rank(), communicator);
  return judge(communicator, "gradients", relative_difference(on.gradients, off.gradients), 0.0);
}

/// One step of a Program that the runtime was given in place of the right one.
models::WorkByKind work_of(const models::Program& program, Communicator& communicator) {
  Storage<float> storage(program);
  const auto source = make_synthetic_source(program.architecture, 7);
  fill_initial_weights(program, 3, storage);
  StepExecutor executor(program, storage, communicator, *source, nullptr, 0, 1);
  StepRecord record;
  executor.run_step(0, record);
  return record.counted;
}

bool differs(Communicator& communicator, const std::string& what, const models::Program& right,
             const models::Program& mutant) {
  const bool caught = !(work_of(mutant, communicator) == models::work_by_kind(right));
  return judge(communicator, what + " not caught", caught ? 0 : 1, 0);
}

/// Removes operations. Without overlap nothing waits for another stream, so no dependency dangles.
template <class Condition>
void remove_if(models::Program& program, Condition condition) {
  std::erase_if(program.operations, condition);
  program.dependencies.clear();
  program.dependency_offsets.assign(program.operations.size() + 1, 0);
}

/// A runtime that leaves out one bias gradient: the counted work tells.
bool skipped_bias_gradient_is_caught(Communicator& communicator) {
  const auto experiment = small_experiment({4}, 2, 1, false);
  const models::Program right = models::lower_training(experiment, communicator.rank());
  models::Program mutant = right;
  remove_if(mutant, [](const models::Operation& operation) {
    return operation.kind == core::OperationKind::bias_gradient && operation.layer == 1 &&
           operation.role == "mlp.fc1.bias_gradient";
  });
  return differs(communicator, "a skipped bias gradient", right, mutant);
}

/// A runtime that sends elements of half the size: the counted work tells.
bool other_element_type_is_caught(Communicator& communicator) {
  const auto experiment = small_experiment({4}, 2, 1, false);
  models::Program right = models::lower_training(experiment, communicator.rank());
  // AdamW would refuse the shorter buffer by name; what is in question are the collectives.
  remove_if(right, [](const models::Operation& operation) {
    return operation.kind == core::OperationKind::adamw;
  });
  models::Program mutant = right;
  for (models::Operation& operation : mutant.operations) {
    if (operation.kind != core::OperationKind::all_reduce) continue;
    models::Tensor& gradients = mutant.tensors[operation.inputs[0].index()];
    gradients.elements /= 2;
    std::get<models::CollectiveShape>(operation.shape).elements = gradients.elements;
  }
  return differs(communicator, "another element type", right, mutant);
}

/// Rank 1 issues two collectives in the other order: the check before the run names it, and a run
/// without the check ends with an error instead of wrong sums.
bool swapped_collectives_are_caught(Communicator& communicator) {
  const auto experiment = small_experiment({4}, 2, 1, false);
  std::vector<models::Program> programs{models::lower_training(experiment, 0),
                                        models::lower_training(experiment, 1)};
  std::vector<models::Operation*> collectives;
  for (models::Operation& operation : programs[1].operations) {
    if (operation.kind == core::OperationKind::all_reduce) collectives.push_back(&operation);
  }
  std::swap(*collectives.at(0), *collectives.at(collectives.size() - 1));
  try {
    models::check_communicators(programs);
    return false;
  } catch (const core::RunError& error) {
    if (communicator.rank() == 0) std::cout << error.what() << "\n";
  }
  try {
    static_cast<void>(
        work_of(programs[static_cast<std::size_t>(communicator.rank())], communicator));
  } catch (const core::RunError& error) {
    std::cout << "rank " << communicator.rank() << ": " << error.what() << std::endl;
    std::_Exit(1);  // as paceline-rt ends: the launcher then ends the other rank
  }
  return false;
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
  if (name == "skipped_bias_gradient") return skipped_bias_gradient_is_caught(communicator);
  if (name == "other_element_type") return other_element_type_is_caught(communicator);
  if (name == "swapped_collectives") return swapped_collectives_are_caught(communicator);
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
