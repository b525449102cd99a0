#include "validate/profile_fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/json.hpp"
#include "core/statistics.hpp"
#include "validate/non_negative_least_squares.hpp"

namespace paceline::validate {
namespace {

using core::Cursor;
using core::KernelMeasurement;
using core::MeasuredLevel;
using core::Measurements;
using hardware_profiles::CpuLevel;
using hardware_profiles::KernelModel;

/// Rows further off than this many sigma count less.
constexpr double doubted_beyond_sigma = 3.0;
/// Sigma is at least this share of a time: timers and caches do not repeat better.
constexpr double least_sigma = 0.01;
constexpr int most_passes = 20;

/// The rows of one kernel class at one level, in the order of the file.
struct ClassRows {
  std::vector<std::string> features;
  std::vector<const KernelMeasurement*> rows;
};
using RowsByClass = std::map<std::string, ClassRows>;

std::vector<std::string> feature_names(const KernelMeasurement& row) {
  std::vector<std::string> names;
  names.reserve(row.features.size());
  for (const auto& [name, amount] : row.features) names.push_back(name);
  return names;
}

RowsByClass rows_by_class(const MeasuredLevel& level, const Cursor& level_cursor) {
  RowsByClass classes;
  const Cursor kernels = level_cursor.at("kernels");
  for (std::size_t i = 0; i < level.kernels.size(); ++i) {
    const KernelMeasurement& row = level.kernels[i];
    if (!(row.time_us > 0.0)) {
      kernels.at(i).at("time_us").fault("got " + core::shown(core::Json(row.time_us)) +
                                        " (must be > 0: the fit is to relative error)");
      continue;
    }
    ClassRows& rows = classes[row.kernel_class];
    if (rows.rows.empty()) {
      rows.features = feature_names(row);
    } else if (rows.features != feature_names(row)) {
      kernels.at(i)
          .at("features")
          .fault("class \"" + row.kernel_class +
                 "\" has other features here than in its first row (all "
                 "rows of a class need the same)");
      continue;
    }
    rows.rows.push_back(&row);
  }
  return classes;
}

Eigen::MatrixXd feature_matrix(const ClassRows& rows) {
  Eigen::MatrixXd features(static_cast<Eigen::Index>(rows.rows.size()),
                           static_cast<Eigen::Index>(rows.features.size()));
  for (Eigen::Index i = 0; i < features.rows(); ++i) {
    for (Eigen::Index j = 0; j < features.cols(); ++j) {
      features(i, j) = rows.rows[static_cast<std::size_t>(i)]->features.at(
          rows.features[static_cast<std::size_t>(j)]);
    }
  }
  return features;
}

/// Rows beyond `doubted_beyond_sigma` weigh as much less as they lie further off (Huber 1964);
/// sigma is estimated from the median, which such rows do not move.
Eigen::VectorXd huber_weights(const Eigen::VectorXd& relative_errors) {
  std::vector<double> sizes(static_cast<std::size_t>(relative_errors.size()));
  Eigen::VectorXd::Map(sizes.data(), relative_errors.size()) = relative_errors.cwiseAbs();
  constexpr double median_to_sigma = 1.4826;  // of a normal distribution
  const double sigma = std::max(least_sigma, median_to_sigma * core::median(sizes));
  return relative_errors.unaryExpr([sigma](double error) {
    return std::min(1.0, doubted_beyond_sigma * sigma / std::max(std::abs(error), 1e-300));
  });
}

/// Coefficients c >= 0 that make `features`·c / times near 1. Every row starts with weight 1; then
/// passes with `huber_weights` until they stand still.
Eigen::VectorXd fit_relative(const Eigen::MatrixXd& features, const Eigen::VectorXd& times) {
  const Eigen::MatrixXd relative = times.cwiseInverse().asDiagonal() * features;
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(times.size());
  Eigen::VectorXd weights = ones;
  Eigen::VectorXd coefficients;
  for (int pass = 0; pass < most_passes; ++pass) {
    const Eigen::VectorXd roots = weights.cwiseSqrt();
    coefficients = non_negative_least_squares(roots.asDiagonal() * relative, roots);
    const Eigen::VectorXd next = huber_weights(relative * coefficients - ones);
    const double change = (next - weights).cwiseAbs().maxCoeff();
    weights = next;
    if (change < 1e-3) break;
  }
  return coefficients;
}

/// Standard deviation of log(times / modelled) about zero, with the degrees of freedom that the
/// coefficients in use leave.
double residual_of(const Eigen::VectorXd& times, const Eigen::VectorXd& modelled,
                   const Eigen::VectorXd& coefficients) {
  const double squares = (times.array() / modelled.array()).log().square().sum();
  const auto used = (coefficients.array() > 0.0).count();
  return std::sqrt(squares / static_cast<double>(std::max<Eigen::Index>(1, times.size() - used)));
}

KernelModel fit_class(const std::string& name, const ClassRows& rows, const Cursor& cursor) {
  KernelModel model;
  model.rows = static_cast<std::int64_t>(rows.rows.size());
  const Eigen::MatrixXd features = feature_matrix(rows);
  const auto needed = (features.colwise().maxCoeff().array() > 0.0).count();
  if (features.rows() < needed) {
    cursor.fault("class \"" + name + "\" has " + std::to_string(features.rows()) +
                 (features.rows() == 1 ? " row" : " rows") + " (its " + std::to_string(needed) +
                 " features need as many: measure more shapes with paceline-rt calibrate)");
    return model;
  }
  Eigen::VectorXd times(features.rows());
  for (Eigen::Index i = 0; i < times.size(); ++i) {
    times(i) = rows.rows[static_cast<std::size_t>(i)]->time_us;
  }
  const Eigen::VectorXd coefficients = fit_relative(features, times);
  const Eigen::VectorXd modelled = features * coefficients;
  if (!(modelled.minCoeff() > 0.0)) {
    cursor.fault("class \"" + name +
                 "\" has a row whose features give no time (every row needs "
                 "one feature above 0 that the class's time grows with)");
    return model;
  }
  for (std::size_t j = 0; j < rows.features.size(); ++j) {
    model.us_per_feature[rows.features[j]] = coefficients(static_cast<Eigen::Index>(j));
  }
  model.residual = residual_of(times, modelled, coefficients);
  return model;
}

void check_levels(const Measurements& measurements, const std::vector<RowsByClass>& levels,
                  const Cursor& cursor) {
  std::set<int> seen;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const int active = measurements.levels[i].active_ranks;
    if (!seen.insert(active).second) {
      cursor.at(i)
          .at("active_ranks")
          .fault("got " + std::to_string(active) + " (a level before it has the same)");
    }
    for (const auto& [name, rows] : levels.front()) {
      if (levels[i].contains(name)) continue;
      cursor.at(i).at("kernels").fault("class \"" + name + "\" is missing (the first level has " +
                                       "it; all levels need the same classes)");
    }
    for (const auto& [name, rows] : levels[i]) {
      if (levels.front().contains(name)) continue;
      cursor.at(i).at("kernels").fault("class \"" + name + "\" is not in the first level (all " +
                                       "levels need the same classes)");
    }
  }
}

std::vector<CpuLevel> fit_levels(const Measurements& measurements, const Cursor& cursor) {
  std::vector<RowsByClass> rows;
  rows.reserve(measurements.levels.size());
  for (std::size_t i = 0; i < measurements.levels.size(); ++i) {
    rows.push_back(rows_by_class(measurements.levels[i], cursor.at(i)));
  }
  check_levels(measurements, rows, cursor);
  std::vector<CpuLevel> levels;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CpuLevel& level = levels.emplace_back();
    level.active_ranks = measurements.levels[i].active_ranks;
    level.reference_gflop_per_s = measurements.levels[i].reference_gflop_per_s;
    for (const auto& [name, of_class] : rows[i]) {
      level.kernels[name] = fit_class(name, of_class, cursor.at(i).at("kernels"));
    }
  }
  std::sort(levels.begin(), levels.end(),
            [](const CpuLevel& a, const CpuLevel& b) { return a.active_ranks < b.active_ranks; });
  return levels;
}

/// {us per call, us per byte} of adding a received slice; zeros where nothing is exchanged.
std::pair<double, double> fit_reduction(const Measurements& measurements, const Cursor& cursor) {
  const auto& reductions = measurements.reductions;
  if (reductions.empty() && measurements.exchanges.empty()) return {0.0, 0.0};
  std::set<std::int64_t> sizes;
  for (const auto& reduction : reductions) sizes.insert(reduction.bytes.value());
  if (sizes.size() < 2) {
    cursor.fault("got " + std::to_string(sizes.size()) + " sizes of reductions (must be 2 or " +
                 "more where ranks exchange data: time per call and time per byte)");
    return {0.0, 0.0};
  }
  const auto count = static_cast<Eigen::Index>(reductions.size());
  Eigen::MatrixXd features = Eigen::MatrixXd::Ones(count, 2);
  Eigen::VectorXd times(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const auto& reduction = reductions[static_cast<std::size_t>(i)];
    features(i, 1) = static_cast<double>(reduction.bytes.value());
    times(i) = reduction.time_us;
  }
  const Eigen::VectorXd coefficients = fit_relative(features, times);
  return {coefficients(0), coefficients(1)};
}

/// What people call the processor.
std::string processor_name(const Measurements& measurements, const std::string& otherwise) {
  const auto found = measurements.provenance.find("cpu");
  return found == measurements.provenance.end() ? otherwise : found->second;
}

}  // namespace

hardware_profiles::CpuDevice fit_cpu_device(const Measurements& measurements,
                                            const std::string& id) {
  core::Faults faults;
  const Cursor cursor("measurements", faults);
  hardware_profiles::CpuDevice device;
  device.id = id;
  device.name = processor_name(measurements, id);
  device.threads = measurements.threads_per_rank;
  device.host_issue_us = measurements.host_issue_us;
  constexpr double bytes_per_gib = 1073741824.0;
  device.memory_gib = static_cast<double>(measurements.memory.value()) / bytes_per_gib;
  if (measurements.levels.empty()) cursor.at("levels").fault("got none (must hold 1 or more)");
  device.levels = fit_levels(measurements, cursor.at("levels"));
  std::tie(device.reduction_us_per_call, device.reduction_us_per_byte) =
      fit_reduction(measurements, cursor.at("reductions"));
  faults.throw_if_any();
  return device;
}

std::string make_cpu_cluster(const Measurements& measurements) {
  const hardware_profiles::CpuDevice device = fit_cpu_device(measurements, "cpu_rank");
  const int ranks = device.levels.back().active_ranks;
  if (ranks > 1 && measurements.exchanges.empty()) {
    throw core::ConfigError(
        "measurements", "/exchanges",
        "got none (must hold 1 or more where " + std::to_string(ranks) + " ranks compute at once)");
  }
  std::vector<hardware_profiles::ExchangePoint> exchanges;
  exchanges.reserve(measurements.exchanges.size());
  for (const auto& exchange : measurements.exchanges) {
    exchanges.push_back({exchange.bytes, exchange.time_us});
  }
  std::sort(exchanges.begin(), exchanges.end(),
            [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return hardware_profiles::cpu_cluster_text(device, ranks, exchanges, measurements.provenance);
}

}  // namespace paceline::validate
