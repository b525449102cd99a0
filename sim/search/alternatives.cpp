#include "sim/search/alternatives.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/predict/predict.hpp"
#include "sim/predict/report_parts.hpp"

namespace paceline::sim {
namespace {

using core::Report;
using hardware_profiles::Cluster;
using models::Experiment;

/// The ranks of one kind of card.
struct KindOfCard {
  std::string id;
  std::string name;
  std::vector<int> ranks;
};

std::vector<KindOfCard> kinds_of(const Experiment& experiment, const Cluster& cluster) {
  std::vector<KindOfCard> kinds;
  for (int rank = 0; rank < static_cast<int>(experiment.parallel.world_size); ++rank) {
    const std::string& id = cluster.slots[static_cast<std::size_t>(rank)].gpu;
    const auto found =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.id == id; });
    if (found != kinds.end()) {
      found->ranks.push_back(rank);
    } else {
      kinds.push_back({id, id.empty() ? "" : cluster.gpu_of(rank).name, {rank}});
    }
  }
  return kinds;
}

/// The same cluster with places for these ranks only.
Cluster places_of(const Cluster& cluster, const std::vector<int>& ranks) {
  Cluster part = cluster;
  part.slots.clear();
  for (const int rank : ranks) part.slots.push_back(cluster.slots[static_cast<std::size_t>(rank)]);
  return part;
}

/// `images` over the ranks of one kind: equal micro-batches, the first ones one larger.
std::vector<std::int64_t> dealt(std::int64_t images, std::size_t ranks) {
  const auto count = static_cast<std::int64_t>(ranks);
  std::vector<std::int64_t> batches(ranks, images / count);
  for (std::int64_t i = 0; i < images % count; ++i) ++batches[static_cast<std::size_t>(i)];
  return batches;
}

Experiment with_batches(const Experiment& experiment, std::vector<std::int64_t> batches,
                        std::int64_t accumulation) {
  Experiment changed = experiment;
  changed.parallel.world_size = static_cast<std::int64_t>(batches.size());
  changed.parallel.given_world_size = changed.parallel.world_size;
  changed.training.micro_batch = std::move(batches);
  changed.training.accumulation_steps = accumulation;
  return changed;
}

void take_rates(const Report& report, Alternative& row) {
  row.fits = report.fits;
  if (!report.fits || !report.images_per_s || !report.step_time_us) return;
  row.images_per_s = *report.images_per_s;
  row.epoch_time_s = report.epoch_time_s;
  const auto& interval = report.step_time_us->interval_90;
  if (!interval) return;
  const double images = row.images_per_s * report.step_time_us->median;
  row.interval_90 = std::vector{images / interval->at(1), images / interval->at(0)};
}

/// One kind with the whole global batch, in the fewest micro-steps of equal size that fit.
std::optional<Alternative> alone(const Experiment& experiment, const Cluster& cluster,
                                 const std::vector<KindOfCard>& kinds, std::size_t index) {
  const KindOfCard& kind = kinds[index];
  const Cluster part = places_of(cluster, kind.ranks);
  const auto ranks = static_cast<std::int64_t>(kind.ranks.size());
  const std::int64_t global = experiment.global_batch();
  constexpr std::int64_t most_steps = 64;
  for (std::int64_t steps = 1; steps <= std::min(most_steps, global); ++steps) {
    if (global % (steps * ranks) != 0) continue;
    const std::int64_t batch = global / (steps * ranks);
    const Report report = predict(
        with_batches(experiment, std::vector<std::int64_t>(kind.ranks.size(), batch), steps), part);
    if (!report.fits) continue;
    Alternative row{.kind = Alternative::Kind::one_kind_alone,
                    .device = kind.name,
                    .micro_batches = std::vector<std::int64_t>(kinds.size(), 0),
                    .accumulation_steps = steps,
                    .images_per_s = 0,
                    .interval_90 = {},
                    .rates = {},
                    .epoch_time_s = {},
                    .fits = true};
    row.micro_batches[index] = batch;
    take_rates(report, row);
    return row;
  }
  return std::nullopt;
}

/// Step time of one kind's ranks as a function of each one's images: fixed + per_image · images.
struct AffineTime {
  double fixed_us = 0;
  double per_image_us = 0;
};

AffineTime time_of(const Experiment& experiment, const Cluster& cluster, const KindOfCard& kind,
                   std::int64_t images) {
  const Cluster part = places_of(cluster, {kind.ranks.front()});
  const auto step_us = [&](std::int64_t batch) {
    const Report report = predict(with_batches(experiment, {batch}, 1), part);
    return report.step_time_us ? report.step_time_us->median : 0.0;
  };
  const std::int64_t fewer = std::max<std::int64_t>(1, images / 2);
  const double high = step_us(images);
  const double low = step_us(fewer);
  if (images == fewer) return {0, high};
  AffineTime time;
  time.per_image_us = std::max(1e-6, (high - low) / static_cast<double>(images - fewer));
  time.fixed_us = std::max(0.0, high - time.per_image_us * static_cast<double>(images));
  return time;
}

/// Images of one rank of each kind such that all end together and the sum is `global`.
std::vector<std::int64_t> balanced(const std::vector<KindOfCard>& kinds,
                                   const std::vector<AffineTime>& times, std::int64_t global) {
  // Σ n_k (T − fixed_k) / per_image_k = global
  double slope = 0;
  double offset = 0;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const auto ranks = static_cast<double>(kinds[k].ranks.size());
    slope += ranks / times[k].per_image_us;
    offset += ranks * times[k].fixed_us / times[k].per_image_us;
  }
  const double end_us = (static_cast<double>(global) + offset) / slope;
  std::vector<std::int64_t> images;
  images.reserve(times.size());
  for (const AffineTime& time : times) {
    images.push_back(
        std::max<std::int64_t>(0, std::llround((end_us - time.fixed_us) / time.per_image_us)));
  }
  return images;
}

std::optional<Alternative> uneven(const Experiment& experiment, const Cluster& cluster,
                                  const std::vector<KindOfCard>& kinds) {
  const std::int64_t global = experiment.global_batch() / experiment.training.accumulation_steps;
  const auto ranks = experiment.parallel.world_size;
  std::vector<AffineTime> times;
  times.reserve(kinds.size());
  for (const KindOfCard& kind : kinds) {
    times.push_back(time_of(experiment, cluster, kind, std::max<std::int64_t>(2, global / ranks)));
  }
  std::vector<std::int64_t> of_kind = balanced(kinds, times, global);
  if (std::any_of(of_kind.begin(), of_kind.end(), [](auto images) { return images < 1; })) {
    return std::nullopt;  // a kind is too slow for even one image: the row "alone" says it
  }
  // What rounding left over goes to the fastest kind, over all of its ranks.
  const auto fastest =
      static_cast<std::size_t>(std::min_element(times.begin(), times.end(),
                                                [](const AffineTime& a, const AffineTime& b) {
                                                  return a.per_image_us < b.per_image_us;
                                                }) -
                               times.begin());
  std::vector<std::int64_t> batches(static_cast<std::size_t>(ranks), 0);
  std::int64_t others = 0;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (k == fastest) continue;
    for (const int rank : kinds[k].ranks) batches[static_cast<std::size_t>(rank)] = of_kind[k];
    others += of_kind[k] * static_cast<std::int64_t>(kinds[k].ranks.size());
  }
  const std::int64_t left = global - others;
  if (left < static_cast<std::int64_t>(kinds[fastest].ranks.size())) return std::nullopt;
  const std::vector<std::int64_t> shares = dealt(left, kinds[fastest].ranks.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    batches[static_cast<std::size_t>(kinds[fastest].ranks[i])] = shares[i];
  }
  of_kind[fastest] = shares.front();
  Alternative row{.kind = Alternative::Kind::uneven_split,
                  .device = {},
                  .micro_batches = of_kind,
                  .accumulation_steps = experiment.training.accumulation_steps,
                  .images_per_s = 0,
                  .interval_90 = {},
                  .rates = {},
                  .epoch_time_s = {},
                  .fits = true};
  take_rates(predict(with_batches(experiment, batches, row.accumulation_steps), cluster), row);
  return row;
}

}  // namespace

std::vector<Alternative> alternatives_of(const Experiment& given, const Cluster& cluster,
                                         const Report& now) {
  if (!now.fits || !now.images_per_s) return {};
  const Experiment experiment = settled_on(given, cluster);
  const std::vector<KindOfCard> kinds = kinds_of(experiment, cluster);
  if (kinds.size() < 2 || kinds.front().id.empty()) return {};
  Alternative row{.kind = Alternative::Kind::now,
                  .device = {},
                  .micro_batches = {},
                  .accumulation_steps = experiment.training.accumulation_steps,
                  .images_per_s = 0,
                  .interval_90 = {},
                  .rates = {},
                  .epoch_time_s = {},
                  .fits = true};
  for (const KindOfCard& kind : kinds) {
    row.micro_batches.push_back(experiment.micro_batch_of(kind.ranks.front()));
  }
  take_rates(now, row);
  std::vector<Alternative> rows{row};
  std::vector<Alternative> alone_rows;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (auto one = alone(experiment, cluster, kinds, k)) alone_rows.push_back(*one);
  }
  std::stable_sort(alone_rows.begin(), alone_rows.end(),
                   [](const auto& a, const auto& b) { return a.images_per_s > b.images_per_s; });
  if (!alone_rows.empty()) rows.push_back(alone_rows.front());
  if (auto split = uneven(experiment, cluster, kinds)) rows.push_back(*split);
  if (alone_rows.size() == kinds.size()) {
    Alternative both = alone_rows.front();
    both.kind = Alternative::Kind::side_by_side;
    both.interval_90.reset();
    for (const Alternative& one : alone_rows) both.rates.push_back(one.images_per_s);
    rows.push_back(std::move(both));
  }
  return rows;
}

}  // namespace paceline::sim
