#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/experiment.hpp"

namespace paceline::cli {

/// Reads an experiment file after changing it as each `--set path=value` says, in order. `path` is
/// dotted (`training.micro_batch`) or has slashes; a number in it is a place in a list. `value` is
/// read as JSON, or taken as text where it is none. Setting a key of a model that is named makes it
/// `{"base": name, key: value}`.
/// Throws `core::UsageError` for a `--set` that cannot be followed, with the nearest path, and
/// `core::ConfigError` with every fault of the changed file; faults at a changed place say so.
[[nodiscard]] models::Experiment read_experiment_with(const std::filesystem::path& path,
                                                      const std::vector<std::string>& overrides);

/// An experiment that is typed instead of written: `MODEL --gpus rtx3090,gtx1080ti …`. What is left
/// out has the defaults of a file.
struct InlineExperiment {
  std::string model;
  std::string gpus;  // names, or name:count, separated by commas
  std::optional<std::string> micro_batch, accumulation_steps, precision, optimizer, checkpointing,
      data, epochs;
  std::optional<std::string> framework;  // a name, or name@version
};

/// Throws as `read_experiment_with`; faults are placed in "command line".
[[nodiscard]] models::Experiment read_inline_experiment(const InlineExperiment& given,
                                                        const std::vector<std::string>& overrides);

}  // namespace paceline::cli
