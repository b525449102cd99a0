#include "runtime/training/trainer.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "core/error.hpp"
#include "models/lowering/lowering.hpp"
#include "models/memory_plan/memory_plan.hpp"
#include "runtime/comm/numbers.hpp"
#include "runtime/comm/status_board.hpp"
#include "runtime/kernels/execute.hpp"
#include "runtime/kernels/threads.hpp"
#include "runtime/measure/clock.hpp"
#include "runtime/measure/host.hpp"
#include "runtime/measure/measured_report.hpp"
#include "runtime/measure/measured_trace.hpp"
#include "runtime/measure/timed_run.hpp"
#include "runtime/training/batch_source.hpp"
#include "runtime/training/initial_weights.hpp"
#include "runtime/training/step_executor.hpp"

namespace paceline::runtime {
namespace {

using models::Experiment;
using models::Program;

/// Throws if ranks were started with different experiments, programs or libraries.
void check_ranks_agree(Communicator& communicator, const Experiment& experiment) {
  const std::string mine = "experiment " + experiment.hash() + ", paceline " PACELINE_VERSION ", " +
                           communicator.library();
  const auto all = communicator.gather(mine);
  std::string verdict;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    verdict = "rank " + std::to_string(rank) + " disagrees with rank 0: it has " + all[rank] +
              ", rank 0 has " + all[0] + " (start all ranks with the same files and programs)";
    break;
  }
  verdict = communicator.broadcast(verdict);
  if (!verdict.empty()) throw core::RunError(verdict);
}

/// The Programs of all ranks, checked against each other.
std::vector<Program> lower_all(const Experiment& experiment) {
  std::vector<Program> programs;
  programs.reserve(static_cast<std::size_t>(experiment.parallel.world_size));
  for (int rank = 0; rank < static_cast<int>(experiment.parallel.world_size); ++rank) {
    programs.push_back(models::lower_training(experiment, rank));
  }
  models::check_communicators(programs);
  return programs;
}

/// Counts right answers on the held-out split; ranks share the batches.
class Evaluation {
 public:
  Evaluation(const Experiment& experiment, const ImageFolder& folder)
      : test_(make_image_source(folder, ImageFolder::Split::test, 0)),
        train_(make_image_source(folder, ImageFolder::Split::train, 0)),
        program_(models::lower_evaluation(experiment, batch_for(folder))),
        storage_(program_) {}

  /// Share of the split that is classified right, over all ranks.
  double accuracy(ImageFolder::Split split, const Program& trained, const Storage<float>& weights,
                  Communicator& communicator) {
    copy_parameters(trained, weights, program_, storage_);
    BatchSource& source = split == ImageFolder::Split::test ? *test_ : *train_;
    const std::int64_t batch = program_.micro_batch;
    double right = 0;
    for (std::int64_t first = communicator.rank() * batch; first < source.samples();
         first += communicator.size() * batch) {
      right += right_in_batch(source, first, std::min(batch, source.samples() - first));
    }
    double sum = 0;
    for (const auto& part : gather_numbers(communicator, {right})) sum += part.front();
    sum = broadcast_numbers(communicator, {sum}).front();
    return sum / static_cast<double>(source.samples());
  }

 private:
  static std::int64_t batch_for(const ImageFolder& folder) {
    constexpr std::int64_t largest = 64;
    return std::min(largest, folder.test_samples);
  }

  double right_in_batch(BatchSource& source, std::int64_t first, std::int64_t valid) {
    models::WorkByKind counted;
    std::span<std::int32_t> labels;
    std::span<float> probabilities;
    for (const models::Operation& operation : program_.operations) {
      if (operation.kind == core::OperationKind::load_batch) {
        labels = storage_.integers(operation.outputs[1]);
        source.load(first, storage_.values(operation.outputs[0]), labels);
        continue;
      }
      kernels::execute<float>(program_, operation, storage_, 1, counted);
      if (operation.kind == core::OperationKind::cross_entropy) {
        probabilities = storage_.values(operation.outputs[1]);
      }
    }
    const auto classes = static_cast<std::size_t>(program_.architecture.classes);
    double right = 0;
    for (std::size_t image = 0; image < static_cast<std::size_t>(valid); ++image) {
      const auto row = probabilities.subspan(image * classes, classes);
      const auto best = std::max_element(row.begin(), row.end()) - row.begin();
      if (best == labels[image]) ++right;
    }
    return right;
  }

  std::unique_ptr<BatchSource> test_;
  std::unique_ptr<BatchSource> train_;
  Program program_;
  Storage<float> storage_;
};

/// Everything that one rank needs to run steps.
class Training {
 public:
  Training(Communicator& communicator, const TrainSettings& settings)
      : communicator_(communicator),
        settings_(settings),
        experiment_(settings.experiment),
        programs_(lower_all(experiment_)),
        program_(programs_.at(static_cast<std::size_t>(communicator.rank()))),
        plan_(models::plan_memory(program_)) {
    open_data();
    if (communicator_.size() > 1) open_board();
  }

  TrainOutcome run() {
    // Its operands first, so that they are not taken for the step's memory. It does not run yet:
    // the buffers that products need beside their operands are the step's.
    ReferenceProduct reference;
    const ResidentRise rise;
    Storage<float> storage(program_);
    fill_initial_weights(program_, static_cast<std::uint64_t>(experiment_.training.seed), storage);
    StepExecutor executor(program_, storage, communicator_, *source_, board_.get(),
                          images_of_lower_ranks(), images_per_micro_step());
    const std::int64_t started = now_ns();
    const models::Run timed = timed_part();
    const std::int64_t all_steps =
        folder_ ? training_steps(*folder_) : timed.warmup_steps + timed.steps;
    const TimedRunSettings timed_settings{
        .watchdog = watchdog_.get(),
        .run = timed,
        .first_step = 0,
        .expected_step_s = settings_.expected_step_s,
        .progress = [&](std::int64_t step) { tell(step, all_steps); }};
    const TimedRun run = run_timed(executor, communicator_, reference, rise, timed_settings);
    core::RankReport mine = rank_report(run.resident_rise);
    std::optional<core::TrainingResult> learnt;
    if (folder_) learnt = train_on(*folder_, executor, storage, timed, run, started);
    const WorldTimes world = exchange_times(program_, run, communicator_);
    TrainOutcome outcome;
    outcome.report =
        measured_report(experiment_, program_, run, world, communicator_, std::move(mine));
    if (learnt) outcome.report.training = *learnt;
    if (settings_.trace_steps > 0) {
      outcome.trace = measured_trace(programs_, run, world, settings_.trace_steps, communicator_);
    }
    if (board_) board_->finish();
    communicator_.barrier();
    return outcome;
  }

 private:
  void tell(std::int64_t done, std::int64_t all) const {
    if (settings_.progress) settings_.progress(done, all);
  }

  void open_data() {
    const models::Dataset& dataset = experiment_.training.dataset;
    const auto seed = static_cast<std::uint64_t>(experiment_.training.seed);
    if (!dataset.path && dataset.name != "synthetic") {
      throw core::ConfigError("experiment", "/training/dataset/path",
                              "is missing (a run needs the images of \"" + dataset.name +
                                  "\": a folder with dataset.json, or --data DIR)");
    }
    if (!dataset.path) {
      source_ = make_synthetic_source(experiment_.model, seed);
      return;
    }
    const ImageFolder& folder = folder_.emplace(read_image_folder(*dataset.path));
    check_suits(folder, experiment_.model);
    source_ = make_image_source(folder, ImageFolder::Split::train, seed);
  }

  void open_board() {
    const int ranks = communicator_.size();
    const std::string path =
        communicator_.broadcast(communicator_.rank() == 0 ? StatusBoard::create(ranks) : "");
    board_ = std::make_unique<StatusBoard>(path, communicator_.rank(), ranks);
    communicator_.barrier();
    if (communicator_.rank() == 0) StatusBoard::unlink(path);
    watchdog_ = std::make_unique<Watchdog>(*board_, [this](int rank, std::int64_t operation) {
      const Program& program = programs_.at(static_cast<std::size_t>(rank));
      if (operation < 0) return std::string("none yet");
      if (operation >= static_cast<std::int64_t>(program.operations.size())) {
        return program.operations.back().name() + " (ended, between two steps)";
      }
      return program.operations[static_cast<std::size_t>(operation)].name();
    });
  }

  [[nodiscard]] std::int64_t images_of_lower_ranks() const {
    std::int64_t images = 0;
    for (int rank = 0; rank < communicator_.rank(); ++rank) {
      images += experiment_.micro_batch_of(rank);
    }
    return images;
  }
  [[nodiscard]] std::int64_t images_per_micro_step() const {
    return program_.global_batch / program_.accumulation_steps;
  }
  /// Steps of the whole training on images: every image once an epoch.
  [[nodiscard]] std::int64_t training_steps(const ImageFolder& folder) const {
    const std::int64_t images = experiment_.training.epochs * folder.train_samples;
    return (images + program_.global_batch - 1) / program_.global_batch;
  }

  /// The timed steps are the first of the training, and no more than it has.
  [[nodiscard]] models::Run timed_part() const {
    models::Run timed = experiment_.run;
    if (!folder_) return timed;
    timed.warmup_steps = std::clamp<std::int64_t>(timed.warmup_steps, 1, training_steps(*folder_));
    timed.steps = std::clamp<std::int64_t>(
        timed.steps, 1, std::max<std::int64_t>(1, training_steps(*folder_) - timed.warmup_steps));
    return timed;
  }

  core::RankReport rank_report(core::Bytes resident_rise) const {
    core::RankReport report;
    report.rank = communicator_.rank();
    report.device = "cpu_rank";
    report.micro_batch = program_.micro_batch;
    report.peak_memory_total = plan_.arena;
    report.peak_memory = plan_.peak_by_category;
    report.resident_rise = resident_rise;
    report.not_counted = {"evaluation", "program and library code", "data set"};
    return report;
  }

  core::TrainingResult train_on(const ImageFolder& folder, StepExecutor& executor,
                                const Storage<float>& storage, const models::Run& timed,
                                const TimedRun& run, std::int64_t started) {
    Evaluation evaluation(experiment_, folder);
    core::TrainingResult result;
    result.epochs = experiment_.training.epochs;
    std::int64_t evaluation_ns = 0;
    std::vector<double> losses;
    losses.reserve(run.steps.size());
    for (const StepRecord& record : run.steps) losses.push_back(record.loss);
    std::int64_t step = timed.warmup_steps + timed.steps;
    StepRecord record;
    for (std::int64_t epoch = 1; epoch <= result.epochs; ++epoch) {
      const std::int64_t images = epoch * folder.train_samples;
      const std::int64_t end = (images + program_.global_batch - 1) / program_.global_batch;
      for (; step < end; ++step) {
        executor.run_step(step, record);
        losses.push_back(record.loss);
        tell(step + 1, training_steps(folder));
      }
      const std::int64_t evaluation_started = now_ns();
      result.loss_by_epoch.push_back(mean_loss(losses));
      losses.clear();
      result.held_out_accuracy_by_epoch.push_back(
          evaluation.accuracy(ImageFolder::Split::test, program_, storage, communicator_));
      evaluation_ns += now_ns() - evaluation_started;
    }
    result.wall_time_s = static_cast<double>(now_ns() - started - evaluation_ns) * 1e-9;
    result.held_out_accuracy = result.held_out_accuracy_by_epoch.back();
    result.train_accuracy =
        evaluation.accuracy(ImageFolder::Split::train, program_, storage, communicator_);
    result.held_out_samples = folder.test_samples;
    return result;
  }

  /// Mean over steps of the loss over the global batch; the value of rank 0 is the world's.
  double mean_loss(const std::vector<double>& losses) {
    const double mine = losses.empty() ? 0.0
                                       : std::accumulate(losses.begin(), losses.end(), 0.0) /
                                             static_cast<double>(losses.size());
    double sum = 0;
    for (const auto& part : gather_numbers(communicator_, {mine})) sum += part.front();
    return sum;
  }

  Communicator& communicator_;
  const TrainSettings& settings_;
  const Experiment& experiment_;
  std::vector<Program> programs_;
  const Program& program_;
  models::MemoryPlan plan_;
  std::optional<ImageFolder> folder_;
  std::unique_ptr<BatchSource> source_;
  std::unique_ptr<StatusBoard> board_;
  std::unique_ptr<Watchdog> watchdog_;
};

}  // namespace

TrainOutcome train(Communicator& communicator, const TrainSettings& settings) {
  const Experiment& experiment = settings.experiment;
  check_ranks_agree(communicator, experiment);
  if (communicator.size() != experiment.parallel.world_size) {
    throw core::ConfigError(
        "experiment", "/parallel/world_size",
        "got " + std::to_string(experiment.parallel.world_size) + " (" +
            std::to_string(communicator.size()) + " ranks were started: mpirun -n " +
            std::to_string(experiment.parallel.world_size) + " paceline-rt train …)");
  }
  kernels::set_thread_count(settings.threads_per_rank);
  TrainOutcome outcome = Training(communicator, settings).run();
  if (communicator.rank() != 0) return {};
  for (const auto& [key, value] : host_provenance()) outcome.report.provenance[key] = value;
  outcome.report.provenance["threads_per_rank"] = std::to_string(settings.threads_per_rank);
  return outcome;
}

}  // namespace paceline::runtime
