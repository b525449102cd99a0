#include "runtime/app/commands.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <optional>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json.hpp"
#include "core/measurements.hpp"
#include "core/report.hpp"
#include "core/trace.hpp"
#include "models/experiment.hpp"
#include "runtime/app/bench.hpp"
#include "runtime/app/command_options.hpp"
#include "runtime/app/doctor.hpp"
#include "runtime/app/progress_bar.hpp"
#include "runtime/measure/calibrate.hpp"
#include "runtime/measure/clock.hpp"
#include "runtime/training/trainer.hpp"

namespace paceline::runtime {
namespace {

namespace po = boost::program_options;

constexpr const char* help_text =
    R"(paceline-rt: train a Vision Transformer for real, and measure it

  paceline-rt doctor                       what this machine and this build can do
  paceline-rt calibrate --out FILE         measure this machine for predictions (about 50 s)
  paceline-rt bench WHAT                   gemm, attention, memory or collectives on their own
  paceline-rt train EXPERIMENT             train, measure each operation, write a report

Several ranks: mpirun -n 2 paceline-rt calibrate …, mpirun -n 2 paceline-rt train …
Options of a command: paceline-rt COMMAND --help
Exit codes: 0 done, 1 ran and failed, 2 bad usage or input.

Example:
  paceline-rt train experiments/digits.json --json measured.json
)";

int checked_threads(const ParsedOptions& parsed) {
  require_between("threads", parsed.integer("threads"), 1, 1024);
  return parsed.integer("threads");
}

int calibrate_command(const std::vector<std::string>& arguments) {
  po::options_description options("options");
  options.add_options()("out", po::value<std::string>()->required(), "measurements file to write")(
      "seconds", po::value<double>()->default_value(50), "how long it may take")(
      "threads", po::value<int>()->default_value(1), "threads of every rank");
  const ParsedOptions parsed =
      parse_options(arguments, options, {}, "paceline-rt calibrate --out FILE");
  if (parsed.asked_for_help) return 0;
  const std::string out = parsed.required_text("out");
  const double seconds = parsed.number("seconds");
  require_between("seconds", seconds, 1, 3600);
  const int threads = checked_threads(parsed);
  check_writable(out);
  const auto communicator = make_communicator();
  CalibrationSettings settings{.threads_per_rank = threads, .seconds = seconds, .progress = {}};
  std::optional<ProgressBar> bar;
  if (communicator->rank() == 0 && ::isatty(STDERR_FILENO) != 0) {
    bar.emplace(std::cerr, "calibrating", "");
    settings.progress = [&](const std::string& what, double share) {
      bar->rename(what);
      bar->show(share, 1.0);
    };
  }
  const std::int64_t started_ns = now_ns();
  const core::Measurements measurements = calibrate(*communicator, settings);
  if (communicator->rank() != 0) return 0;
  bar.reset();
  core::write_file_atomically(out, core::measurements_text(measurements));
  for (const core::MeasuredLevel& level : measurements.levels) {
    std::cout << fmt::format(
        "{} active rank{}: reference product {:.1f} GFLOP/s ({:.1f}–{:.1f}), "
        "{} kernels\n",
        level.active_ranks, level.active_ranks == 1 ? "" : "s", level.reference_gflop_per_s,
        level.reference_p10, level.reference_p90, level.kernels.size());
  }
  if (!measurements.exchanges.empty()) {
    std::cout << fmt::format("{}: {} sizes of exchanges, {} of reductions, {} of all-reduces\n",
                             measurements.transport, measurements.exchanges.size(),
                             measurements.reductions.size(), measurements.collectives.size());
  }
  std::cout << fmt::format("host issue {:.2f} us an operation; {:.1f} s in all\n",
                           measurements.host_issue_us,
                           static_cast<double>(now_ns() - started_ns) * 1e-9);
  std::cout << "wrote " << out << "; next: paceline make-profile " << out << "\n";
  return 0;
}

void print_summary(const core::Report& report) {
  const auto& step = report.step_time_us;
  if (!step || !step->samples || !report.images_per_s || !report.model_flop_rate_gflop_per_s) {
    throw core::InvariantError("a measured report without its headline");
  }
  std::cout << fmt::format("{}: {} rank{}, {} images a step\n", report.model, report.world_size,
                           report.world_size == 1 ? "" : "s", report.global_batch);
  std::cout << fmt::format("step {:.2f} ms (p10 {:.2f}, p90 {:.2f}, {} steps), ",
                           step->median * 1e-3, step->p10 * 1e-3, step->p90 * 1e-3,
                           step->samples->size());
  std::cout << fmt::format("{:.0f} images/s, {:.1f} GFLOP/s of the model\n", *report.images_per_s,
                           *report.model_flop_rate_gflop_per_s);
  if (!report.training) return;
  const core::TrainingResult& learnt = *report.training;
  std::cout << fmt::format(
      "{} epochs in {:.1f} s: loss {:.3f}, held-out accuracy {:.1f} % of {} "
      "images, training accuracy {:.1f} %\n",
      learnt.epochs, learnt.wall_time_s, learnt.loss_by_epoch.back(),
      learnt.held_out_accuracy * 100, learnt.held_out_samples, learnt.train_accuracy * 100);
}

/// What a report of this experiment says that a step takes.
double predicted_step_s(const std::string& path, const models::Experiment& experiment) {
  const core::Report predicted = core::read_report(path);
  if (predicted.identity.experiment_hash != experiment.hash()) {
    throw core::ConfigError(path, "/identity/experiment_hash",
                            "got " + predicted.identity.experiment_hash + " (must be the " +
                                experiment.hash() + " of this experiment: predict it again)");
  }
  if (!predicted.step_time_us) {
    throw core::ConfigError(path, "/step_time_us",
                            "is missing (a prediction that does not fit has no time)");
  }
  return predicted.step_time_us->median * 1e-6;
}

/// This is the runtime of the framework `paceline`, and it runs fp32.
void check_runs_here(const models::Experiment& experiment, const std::string& file) {
  core::Faults faults;
  if (experiment.framework.name != core::FrameworkKind::paceline) {
    faults.add(
        {file, "/framework",
         "got \"" + std::string(core::spelling(experiment.framework.name)) +
             "\", which is the default (this runtime is \"paceline\": set it to that, or run "
             "PyTorch itself)"});
  }
  if (experiment.training.precision != core::Precision::fp32) {
    faults.add({file, "/training/precision",
                "got \"" + std::string(core::spelling(experiment.training.precision)) +
                    "\" (CPU ranks run fp32)"});
  }
  faults.throw_if_any();
}

int train_command(const std::vector<std::string>& arguments) {
  po::options_description options("options");
  options.add_options()("experiment", po::value<std::string>()->required(), "experiment file")(
      "json", po::value<std::string>(), "report file to write")(
      "trace", po::value<std::string>(), "trace file to write, for Perfetto or chrome://tracing")(
      "trace-steps", po::value<int>()->default_value(1), "steps in it")(
      "data", po::value<std::string>(), "folder with images, instead of the experiment's")(
      "threads", po::value<int>()->default_value(1), "threads of every rank")(
      "expected-step-us", po::value<double>()->default_value(0),
      "a step that takes 20 times as long ends the run")("predicted", po::value<std::string>(),
                                                         "take the expected step from this report");
  po::positional_options_description positional;
  positional.add("experiment", 1);
  const ParsedOptions parsed =
      parse_options(arguments, options, positional, "paceline-rt train EXPERIMENT");
  if (parsed.asked_for_help) return 0;
  TrainSettings settings;
  settings.experiment = models::read_experiment(parsed.required_text("experiment"));
  check_runs_here(settings.experiment, parsed.required_text("experiment"));
  settings.threads_per_rank = checked_threads(parsed);
  settings.expected_step_s = parsed.number("expected-step-us") * 1e-6;
  if (const auto path = parsed.text("predicted")) {
    settings.expected_step_s = predicted_step_s(*path, settings.experiment);
  }
  if (const auto data = parsed.text("data")) {
    settings.experiment.training.dataset.path = *data;
  }
  const auto json = parsed.text("json");
  check_writable(json);
  const auto trace = parsed.text("trace");
  check_writable(trace);
  require_between("trace-steps", parsed.integer("trace-steps"), 1, 1000);
  if (trace) settings.trace_steps = parsed.integer("trace-steps");
  const auto communicator = make_communicator();
  std::optional<ProgressBar> bar;
  if (communicator->rank() == 0 && ::isatty(STDERR_FILENO) != 0) {
    bar.emplace(std::cerr, "training", "steps");
    settings.progress = [&](std::int64_t done, std::int64_t all) {
      bar->show(static_cast<double>(done), static_cast<double>(all));
    };
  }
  const TrainOutcome outcome = train(*communicator, settings);
  if (communicator->rank() != 0) return 0;
  bar.reset();
  if (json) core::write_file_atomically(*json, core::report_text(outcome.report));
  if (trace && outcome.trace) core::write_file_atomically(*trace, core::trace_text(*outcome.trace));
  print_summary(outcome.report);
  return 0;
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "help" : arguments.front();
  const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1),
                                      arguments.end());
  if (command == "doctor") return doctor_command(rest);
  if (command == "calibrate") return calibrate_command(rest);
  if (command == "bench") return bench_command(rest);
  if (command == "train") return train_command(rest);
  if (command == "help" || command == "--help" || command == "-h") {
    std::cout << help_text;
    return arguments.empty() ? 2 : 0;
  }
  if (command == "--version") {
    std::cout << "paceline-rt " PACELINE_VERSION "\n";
    return 0;
  }
  const std::string near =
      core::nearest(command, {"doctor", "calibrate", "bench", "train", "help"});
  throw core::UsageError("unknown command \"" + command + "\"" +
                         (near.empty() ? "" : ", did you mean \"" + near + "\"?") +
                         " (see paceline-rt help)");
}

}  // namespace paceline::runtime
