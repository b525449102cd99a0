#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/report.hpp"
#include "hardware_profiles/cluster.hpp"
#include "models/experiment.hpp"

namespace paceline::sim {

/// Another way to train the same global batch with cards of the same job.
struct Alternative {
  enum class Kind : std::uint8_t { now, one_kind_alone, uneven_split, side_by_side };
  Kind kind = Kind::now;
  std::string device;                       // one_kind_alone: the card's name
  std::vector<std::int64_t> micro_batches;  // by kind of card in the job's order; 0: left out
  std::int64_t accumulation_steps = 1;
  double images_per_s = 0;
  std::optional<std::vector<double>> interval_90;  // of images_per_s: [low, high]
  std::vector<double> rates;                       // side_by_side: of each job
  std::optional<double> epoch_time_s;
  bool fits = true;
};

/// For a job on unlike GPUs whose report is `now`: the job itself; the cards of each kind alone (in
/// as few micro-steps as fit); the split of images that makes all kinds end together; each kind as
/// a job of its own with the whole global batch. Every row has the same global batch. Empty for
/// jobs on one kind of device, on CPU ranks, or that do not fit.
///
/// The split takes each kind's step as affine in its images, from two predictions; the row is then
/// predicted as it stands. Source: docs/formulas_simulation.md, "Uneven split".
[[nodiscard]] std::vector<Alternative> alternatives_of(const models::Experiment& experiment,
                                                       const hardware_profiles::Cluster& cluster,
                                                       const core::Report& now);

}  // namespace paceline::sim
