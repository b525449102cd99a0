#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/architecture.hpp"
#include "models/program.hpp"

namespace paceline::models {

/// Where training images come from.
struct Dataset {
  std::string name = "synthetic";  // synthetic, or a folder that holds dataset.json
  std::optional<std::string> path;
  std::optional<std::int64_t> samples;  // of the training split
};

struct Training {
  /// Images per rank and micro-step: one value for all ranks, or one for each.
  std::vector<std::int64_t> micro_batch{64};
  std::int64_t accumulation_steps = 1;
  std::string precision = "fp32";
  std::string optimizer = "adamw";
  double learning_rate = 1e-3;
  std::vector<double> betas{0.9, 0.999};
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  Dataset dataset;
  std::int64_t epochs = 1;
  std::int64_t seed = 0;

  [[nodiscard]] AdamWSettings adamw() const;
};

struct Parallel {
  std::int64_t world_size = 1;
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
  std::string cluster = "this_machine";
  std::string framework = "paceline";
  Training training;
  Parallel parallel;
  Run run;

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

/// JSON Schema of experiment files.
[[nodiscard]] std::string experiment_schema();

}  // namespace paceline::models
