#include <algorithm>
#include <array>

#include "cli/output_file.hpp"
#include "cli/overrides.hpp"
#include "cli/render_prediction.hpp"
#include "cli/verb.hpp"
#include "core/error.hpp"
#include "hardware_profiles/cluster.hpp"
#include "sim/predict/predict.hpp"

namespace paceline::cli {
namespace {

Detail detail_of(const Arguments& arguments) {
  if (arguments.has("quiet") && arguments.has("brief")) {
    throw core::UsageError("paceline predict: --quiet and --brief exclude each other (give one)");
  }
  if (arguments.has("quiet")) return Detail::quiet;
  return arguments.has("brief") ? Detail::brief : Detail::full;
}

/// The trace costs memory, so it is made only where it is wanted.
sim::Prediction predicted(const models::Experiment& experiment,
                          const hardware_profiles::Cluster& cluster, bool with_trace) {
  if (with_trace) return sim::predict_with_trace(experiment, cluster);
  return {.report = sim::predict(experiment, cluster), .trace = {}};
}

int predict(const Arguments& arguments, const Console& console) {
  const Detail detail = detail_of(arguments);
  const auto report_file = output_file(arguments, "json");
  const auto trace_file = output_file(arguments, "trace");
  const auto experiment_file = output_file(arguments, "save");
  const std::array files{&report_file, &trace_file, &experiment_file};
  const models::Experiment experiment =
      read_experiment_with(arguments.positional.front(), arguments.values("set"));
  const hardware_profiles::Cluster cluster =
      hardware_profiles::find_cluster(experiment.cluster.name, arguments.value("profiles").value_or(""));
  const sim::Prediction prediction = predicted(experiment, cluster, trace_file.has_value());
  const core::Report& report = prediction.report;
  if (experiment_file) experiment_file->write(models::experiment_text(experiment), console);
  if (report_file) report_file->write(core::report_text(report), console);
  if (trace_file) trace_file->write(core::trace_text(prediction.trace), console);
  const bool output_is_taken = std::any_of(files.begin(), files.end(), [](const auto* file) {
    return *file && (*file)->is_standard_output();
  });
  if (!output_is_taken) {
    console.print(prediction_screen(report, cluster.name.empty() ? cluster.id : cluster.name,
                                    fullest_node(report, cluster), detail, console));
  }
  return arguments.has("require-fit") && !report.fits ? 1 : 0;
}

}  // namespace

Verb predict_verb() {
  return {.name = "predict",
          .summary = "how fast an experiment trains, what holds it back, whether it fits",
          .operands = "EXPERIMENT",
          .arity = {1, 1},
          .about =
              "Simulates one training step of the experiment file until it repeats itself. "
              "Prints the step time with its interval, what each rank does in a step, memory, "
              "collectives and the longest operations.",
          .examples = {"paceline predict experiment.json",
                       "paceline predict experiment.json --set training.micro_batch=32 --json "
                       "batch_32.json"},
          .options = {{"profiles", "DIR", "look for clusters there first"},
                      {"set", "PATH=VALUE",
                       "change a key of the experiment, as training.micro_batch=32; may be "
                       "repeated",
                       true},
                      {"json", "FILE", "write the report; - is standard output"},
                      {"trace", "FILE", "write the simulated step for Perfetto (ui.perfetto.dev)"},
                      {"save", "FILE", "write the experiment as it was read, defaults filled in"},
                      {"require-fit", "", "exit with 1 if it does not fit into memory"},
                      {"brief", "", "stop after the bars"},
                      {"quiet", "", "print the first paragraph only"}},
          .run = predict};
}

}  // namespace paceline::cli
