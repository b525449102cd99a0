#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "cli/html_report.hpp"
#include "cli/output_file.hpp"
#include "cli/overrides.hpp"
#include "cli/render_prediction.hpp"
#include "cli/verb.hpp"
#include "core/error.hpp"
#include "hardware_profiles/cluster.hpp"
#include "models/zoo.hpp"
#include "sim/predict/predict.hpp"
#include "sim/search/alternatives.hpp"

namespace paceline::cli {
namespace {

Detail detail_of(const Arguments& arguments) {
  if (arguments.has("quiet") && arguments.has("brief")) {
    throw core::UsageError("paceline predict: --quiet and --brief exclude each other (give one)");
  }
  if (arguments.has("quiet")) return Detail::quiet;
  if (arguments.has("details")) return Detail::all;
  return arguments.has("brief") ? Detail::brief : Detail::full;
}

/// The trace costs memory, so it is made only where it is wanted.
sim::Prediction predicted(const models::Experiment& experiment,
                          const hardware_profiles::Cluster& cluster, bool with_trace) {
  if (with_trace) return sim::predict_with_trace(experiment, cluster);
  return {.report = sim::predict(experiment, cluster), .trace = {}};
}

bool is_inline(const Arguments& arguments) { return arguments.has("gpus"); }

/// Options that describe an experiment have no place beside a file.
void refuse_inline_options(const Arguments& arguments) {
  for (const char* name : {"micro-batch", "accumulation-steps", "precision", "optimizer",
                           "checkpointing", "data", "epochs", "framework"}) {
    if (!arguments.has(name)) continue;
    throw core::UsageError(std::string("paceline predict: --") + name +
                           " goes with MODEL --gpus … (beside a file use --set path=value)");
  }
}

models::Experiment experiment_of(const Arguments& arguments) {
  const std::string& first = arguments.positional.front();
  if (is_inline(arguments)) {
    return read_inline_experiment({.model = first,
                                   .gpus = arguments.value("gpus").value_or(""),
                                   .micro_batch = arguments.value("micro-batch"),
                                   .accumulation_steps = arguments.value("accumulation-steps"),
                                   .precision = arguments.value("precision"),
                                   .optimizer = arguments.value("optimizer"),
                                   .checkpointing = arguments.value("checkpointing"),
                                   .data = arguments.value("data"),
                                   .epochs = arguments.value("epochs"),
                                   .framework = arguments.value("framework")},
                                  arguments.values("set"));
  }
  refuse_inline_options(arguments);
  if (!std::filesystem::exists(first) && models::find_in_zoo(first) != nullptr) {
    throw core::UsageError("paceline predict: " + first +
                           " is a model (name the cards, as --gpus rtx3090,gtx1080ti)");
  }
  return read_experiment_with(first, arguments.values("set"));
}

hardware_profiles::Cluster cluster_of(const models::Experiment& experiment,
                                      const std::string& profiles) {
  const auto& reference = experiment.cluster;
  if (!reference.devices.empty()) {
    return hardware_profiles::cluster_of_gpus(reference.devices, profiles);
  }
  return hardware_profiles::find_cluster(reference.name, profiles);
}

int predict(const Arguments& arguments, const Console& console) {
  const Detail detail = detail_of(arguments);
  const auto report_file = output_file(arguments, "json");
  const auto trace_file = output_file(arguments, "trace");
  const auto experiment_file = output_file(arguments, "save");
  const auto page_file = output_file(arguments, "html");
  const std::array files{&report_file, &trace_file, &experiment_file, &page_file};
  const models::Experiment experiment = experiment_of(arguments);
  const hardware_profiles::Cluster cluster =
      cluster_of(experiment, arguments.value("profiles").value_or(""));
  const sim::Prediction prediction = predicted(experiment, cluster, trace_file.has_value());
  const core::Report& report = prediction.report;
  if (experiment_file) experiment_file->write(models::given_experiment_text(experiment), console);
  if (report_file) report_file->write(core::report_text(report), console);
  if (page_file) page_file->write(html_report(std::span(&report, 1)), console);
  if (trace_file) trace_file->write(core::trace_text(prediction.trace), console);
  const bool output_is_taken = std::any_of(files.begin(), files.end(), [](const auto* file) {
    return *file && (*file)->is_standard_output();
  });
  if (!output_is_taken) {
    console.print(prediction_screen(report, cluster.name.empty() ? cluster.id : cluster.name,
                                    fullest_node(report, cluster), detail, console,
                                    sim::alternatives_of(experiment, cluster, report)));
  }
  return arguments.has("require-fit") && !report.fits ? 1 : 0;
}

}  // namespace

Verb predict_verb() {
  return {
      .name = "predict",
      .summary = "how fast an experiment trains, what holds it back, whether it fits",
      .operands = "EXPERIMENT | MODEL --gpus LIST",
      .arity = {1, 1},
      .about =
          "Simulates one training step of the experiment file until it repeats itself. "
          "Prints the step time with its interval, what each rank does in a step, memory, "
          "collectives and the longest operations.",
      .examples =
          {"paceline predict vit_base_patch16_224 --gpus rtx3090,gtx1080ti --micro-batch 64",
           "paceline predict experiment.json",
           "paceline predict experiment.json --set training.micro_batch=32 --json "
           "batch_32.json"},
      .options = {{"gpus", "LIST", "cards of one node, as rtx3090,gtx1080ti or a100_sxm4_80gb:8"},
                  {"micro-batch", "N", "images per GPU and forward pass; or one for each, 116,12"},
                  {"accumulation-steps", "N", "micro-steps per optimizer step"},
                  {"precision", "P", "fp32, tf32, amp_fp16, amp_bf16"},
                  {"optimizer", "O", "adamw or sgd"},
                  {"checkpointing", "C", "activation checkpointing: none or full"},
                  {"data", "NAME", "cifar10, cifar100, imagenet1k or synthetic"},
                  {"epochs", "N", "passes over the training split"},
                  {"framework", "F", "pytorch_ddp, pytorch_ddp@1.12, paceline"},
                  {"profiles", "DIR", "look for clusters there first"},
                  {"set", "PATH=VALUE",
                   "change a key of the experiment, as training.micro_batch=32; may be "
                   "repeated",
                   true},
                  {"json", "FILE", "write the report; - is standard output"},
                  {"trace", "FILE", "write the simulated step for Perfetto (ui.perfetto.dev)"},
                  {"save", "FILE", "write the experiment as a file, with what was given"},
                  {"require-fit", "", "exit with 1 if it does not fit into memory"},
                  {"details", "", "all tables: phases, collectives, operations"},
                  {"html", "FILE", "write a page of charts, one file, no network needed"},
                  {"brief", "", "stop after the bars and the alternatives"},
                  {"quiet", "", "print the first paragraph only"}},
      .run = predict};
}

}  // namespace paceline::cli
