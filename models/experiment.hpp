#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/architecture.hpp"
#include "models/optimizer_kernels.hpp"
#include "models/program.hpp"

namespace paceline::models {

/// A cluster file, by id or path; or one node with these cards.
struct ClusterReference {
  std::string name = "this_machine";
  std::vector<std::string> devices;  // inline, in rank order; then `name` is empty

  bool operator==(const ClusterReference&) const = default;
};

/// Where training images come from.
struct Dataset {
  std::string name = "synthetic";  // synthetic, or a folder that holds dataset.json
  std::optional<std::string> path;
  std::optional<std::int64_t> samples;  // of the training split
};

/// The software stack that trains. What is left out is what the stated version does by default.
struct Framework {
  core::FrameworkKind name = core::FrameworkKind::pytorch_ddp;
  std::optional<std::string> version;   // "2.11", "1.12"; none for paceline
  std::optional<bool> fused_attention;  // one kernel, no probabilities in memory
  std::optional<OptimizerKernels> optimizer_kernels;
  /// What this host takes to issue one operator of forward or backward pass, in microseconds.
  std::optional<double> host_us_per_operator;
  /// With accumulation: exchange gradients in the last micro-step only (DDP's no_sync).
  bool no_sync = true;

  /// "pytorch_ddp 2.11"
  [[nodiscard]] std::string title() const;
  bool operator==(const Framework&) const = default;
};

struct Training {
  /// Images per rank and micro-step: one value for all ranks, or one for each. Empty where
  /// `micro_batch_by_device` is given and the cluster is not yet known.
  std::vector<std::int64_t> micro_batch{64};
  std::map<std::string, std::int64_t> micro_batch_by_device;  // by the device's id or alias
  std::int64_t accumulation_steps = 1;
  core::Precision precision = core::Precision::fp32;
  core::OptimizerKind optimizer = core::OptimizerKind::adamw;
  double learning_rate = 1e-3;
  std::vector<double> betas{0.9, 0.999};
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double momentum = 0.9;
  std::optional<double> clip_norm;
  core::ActivationCheckpointing activation_checkpointing = core::ActivationCheckpointing::none;
  Dataset dataset;
  std::int64_t epochs = 1;
  std::int64_t seed = 0;

  [[nodiscard]] OptimizerSettings optimizer_settings() const;
};

struct Parallel {
  /// As the file says it. Left out: as many as an inline cluster has devices, else as the
  /// micro-batch has entries.
  std::optional<std::int64_t> given_world_size;
  std::int64_t world_size = 1;  // ranks; what counts
  std::int64_t bucket_mib = 25;
  bool overlap = true;
};

/// How much of it to run when it is timed.
struct Run {
  std::int64_t steps = 20;
  std::int64_t warmup_steps = 3;
};

/// One experiment file, resolved: names looked up, defaults filled in, everything checked.
struct Experiment {
  VitArchitecture model;
  ClusterReference cluster;
  Framework framework;
  Training training;
  Parallel parallel;
  Run run;
  /// JSON pointers of all keys that the file (or command line) gives; the rest are defaults.
  std::set<std::string> given;

  [[nodiscard]] bool gives(const std::string& pointer) const { return given.contains(pointer); }

  [[nodiscard]] std::int64_t micro_batch_of(int rank) const {
    const auto& list = training.micro_batch;
    return list.size() == 1 ? list.front() : list.at(static_cast<std::size_t>(rank));
  }
  /// Σ over ranks of micro-batch × accumulation steps.
  [[nodiscard]] std::int64_t global_batch() const;
  /// 16 hexadecimal digits over the resolved experiment, the dataset's path apart.
  [[nodiscard]] std::string hash() const;
};

/// Throws `core::ConfigError` with every fault.
[[nodiscard]] Experiment read_experiment(const std::filesystem::path& path);
[[nodiscard]] Experiment read_experiment_text(std::string_view text, const std::string& file);

/// The resolved experiment as a file of its own.
[[nodiscard]] std::string experiment_text(const Experiment& experiment);

/// The same with the keys that were given, and no defaults: what `--save` writes. It reads back as
/// an experiment of the same hash and the same `given`.
[[nodiscard]] std::string given_experiment_text(const Experiment& experiment);

/// JSON Schema of experiment files.
[[nodiscard]] std::string experiment_schema();

}  // namespace paceline::models
