#include "validate/run_set.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/statistics.hpp"

namespace paceline::validate {
namespace {

using core::Report;

Difference median_difference(const std::vector<const Difference*>& repeats) {
  Difference middle = *repeats.front();
  std::vector<double> measured;
  std::vector<double> normalised;
  for (const Difference* repeat : repeats) {
    measured.push_back(repeat->measured_us);
    normalised.push_back(repeat->normalised_us);
  }
  middle.measured_us = core::median(std::move(measured));
  middle.normalised_us = core::median(std::move(normalised));
  return middle;
}

std::vector<Difference> median_differences(const std::vector<Comparison>& repeats,
                                           std::vector<Difference> Comparison::* list) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Difference*>> by_name;
  for (const Comparison& repeat : repeats) {
    for (const Difference& difference : repeat.*list) {
      auto& same = by_name[difference.what];
      if (same.empty()) order.push_back(difference.what);
      same.push_back(&difference);
    }
  }
  std::vector<Difference> medians;
  medians.reserve(order.size());
  for (const std::string& what : order) medians.push_back(median_difference(by_name[what]));
  return medians;
}

double counted_flops(const Report& report) {
  double flops = 0.0;
  for (std::size_t rank = 0; rank < report.counted_work.size(); ++rank) {
    const bool by_entry = report.counted_work.size() == report.ranks.size();
    const double alike = by_entry ? report.ranks[rank].represents : 1.0;
    for (const auto& [kind, work] : report.counted_work[rank]) {
      flops += alike * static_cast<double>(work.flops.value());
    }
  }
  return flops;
}

/// The files of one configuration.
struct Files {
  std::vector<std::pair<std::string, std::filesystem::path>> predicted;  // by prediction
  std::vector<std::filesystem::path> measured;
};

std::map<std::string, Files> files_by_configuration(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::directory_iterator entries(folder, error);
  if (error) {
    throw core::ConfigError(folder.string(), "",
                            "is not a readable folder (give one with <name>.predicted.json and "
                            "<name>.measured.<k>.json)");
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : entries) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::map<std::string, Files> configurations;
  const std::string of_prediction = ".predicted";
  const std::string of_measurement = ".measured.";
  for (const auto& path : paths) {
    const std::string stem = path.stem().string();
    if (const auto at = stem.rfind(of_measurement); at != std::string::npos && at > 0) {
      configurations[stem.substr(0, at)].measured.push_back(path);
    } else if (const auto begin = stem.rfind(of_prediction); begin != std::string::npos && begin) {
      configurations[stem.substr(0, begin)].predicted.emplace_back(
          stem.substr(begin + of_prediction.size()), path);
    }
  }
  return configurations;
}

std::optional<bool> inside_interval(const Report& predicted, double normalised_us) {
  if (!predicted.step_time_us || !predicted.step_time_us->interval_90) return std::nullopt;
  const std::vector<double>& interval = *predicted.step_time_us->interval_90;
  return interval.at(0) <= normalised_us && normalised_us <= interval.at(1);
}

RunSetRow row_of(const Report& predicted, const std::vector<Report>& measured,
                 const std::vector<Comparison>& repeats) {
  RunSetRow row;
  row.model = predicted.model;
  row.world_size = predicted.world_size;
  row.global_batch = predicted.global_batch;
  row.repeats = repeats.size();
  row.step = median_of(repeats).step;
  row.spread = spread_of(repeats);
  row.has_reference_rates = predicted.reference_rate &&
                            std::all_of(measured.begin(), measured.end(), [](const auto& one) {
                              return one.reference_rate.has_value();
                            });
  if (row.has_reference_rates) row.reference_gflop_per_s = predicted.reference_rate->gflop_per_s;
  row.inside_interval_90 = inside_interval(predicted, row.step.normalised_us);
  row.step_flops = counted_flops(measured.front());
  if (!(row.step_flops > 0.0)) row.step_flops = counted_flops(predicted);
  return row;
}

ErrorSummary summary_of(std::string predictor, const std::vector<double>& raw,
                        const std::vector<double>& normalised) {
  ErrorSummary summary;
  summary.predictor = std::move(predictor);
  summary.rows = raw.size();
  summary.median_raw = core::median(raw);
  summary.worst_raw = *std::max_element(raw.begin(), raw.end());
  summary.median_normalised = core::median(normalised);
  summary.worst_normalised = *std::max_element(normalised.begin(), normalised.end());
  return summary;
}

/// Absolute errors of work / (mean rate of the other rows), each row left out once.
std::vector<double> leave_one_out(const std::vector<const RunSetRow*>& rows,
                                  const std::function<double(const RunSetRow&)>& work,
                                  const std::function<double(const RunSetRow&)>& time) {
  double sum_of_rates = 0.0;
  for (const RunSetRow* row : rows) sum_of_rates += work(*row) / time(*row);
  std::vector<double> errors;
  for (const RunSetRow* row : rows) {
    const double others = sum_of_rates - work(*row) / time(*row);
    const double rate = others / static_cast<double>(rows.size() - 1);
    errors.push_back(std::abs(work(*row) / rate / time(*row) - 1.0));
  }
  return errors;
}

ErrorSummary summary_of_rate(std::string predictor, const std::vector<const RunSetRow*>& rows,
                             const std::function<double(const RunSetRow&)>& work) {
  const auto raw = [](const RunSetRow& row) { return row.step.measured_us; };
  const auto normalised = [](const RunSetRow& row) {
    return row.step.normalised_us * row.reference_gflop_per_s;
  };
  return summary_of(std::move(predictor), leave_one_out(rows, work, raw),
                    leave_one_out(rows, work, normalised));
}

std::vector<ErrorSummary> summaries_of(const std::vector<const RunSetRow*>& rows) {
  std::vector<double> raw;
  std::vector<double> normalised;
  for (const RunSetRow* row : rows) {
    raw.push_back(std::abs(row->step.raw_error()));
    normalised.push_back(std::abs(row->step.normalised_error()));
  }
  std::vector<ErrorSummary> summaries{summary_of("paceline", raw, normalised)};
  const bool all_have_work = std::all_of(rows.begin(), rows.end(), [](const RunSetRow* row) {
    return row->step_flops > 0.0 && row->step.measured_us > 0.0;
  });
  if (rows.size() < 2 || !all_have_work) return summaries;
  summaries.push_back(
      summary_of_rate("flops", rows, [](const RunSetRow& row) { return row.step_flops; }));
  summaries.push_back(summary_of_rate("flops_per_rank", rows, [](const RunSetRow& row) {
    return row.step_flops / static_cast<double>(row.world_size);
  }));
  return summaries;
}

/// Reads one configuration's files and adds a row for each of its predictions.
void add_rows(const std::string& name, const Files& files, std::vector<RunSetRow>& rows) {
  std::vector<Report> measured;
  measured.reserve(files.measured.size());
  for (const auto& path : files.measured) measured.push_back(core::read_report(path));
  for (const auto& [prediction, path] : files.predicted) {
    const Report predicted = core::read_report(path);
    std::vector<Comparison> repeats;
    repeats.reserve(measured.size());
    for (std::size_t k = 0; k < measured.size(); ++k) {
      repeats.push_back(compare(predicted, measured[k], path.string(), files.measured[k].string()));
    }
    RunSetRow row = row_of(predicted, measured, repeats);
    row.name = name;
    row.prediction = prediction;
    rows.push_back(std::move(row));
  }
}

}  // namespace

Comparison median_of(const std::vector<Comparison>& repeats) {
  if (repeats.empty()) throw core::InvariantError("median of no comparisons");
  Comparison middle = repeats.front();
  std::vector<const Difference*> steps;
  steps.reserve(repeats.size());
  for (const Comparison& repeat : repeats) steps.push_back(&repeat.step);
  middle.step = median_difference(steps);
  middle.phases = median_differences(repeats, &Comparison::phases);
  middle.kinds = median_differences(repeats, &Comparison::kinds);
  middle.classes = median_differences(repeats, &Comparison::classes);
  middle.collectives = median_differences(repeats, &Comparison::collectives);
  middle.operations = median_differences(repeats, &Comparison::operations);
  return middle;
}

RepeatSpread spread_of(const std::vector<Comparison>& repeats) {
  if (repeats.size() < 2) return {};
  const auto spread = [&](double Difference::* time_us) {
    const auto [least, most] = std::minmax_element(
        repeats.begin(), repeats.end(), [time_us](const Comparison& a, const Comparison& b) {
          return a.step.*time_us < b.step.*time_us;
        });
    const double shortest = least->step.*time_us;
    return shortest > 0.0 ? most->step.*time_us / shortest - 1.0 : 0.0;
  };
  return {spread(&Difference::measured_us), spread(&Difference::normalised_us)};
}

std::vector<ErrorSummary> summarise(const std::vector<RunSetRow>& rows) {
  std::map<std::string, std::vector<const RunSetRow*>> by_prediction;
  for (const RunSetRow& row : rows) by_prediction[row.prediction].push_back(&row);
  std::vector<ErrorSummary> all;
  for (const auto& [prediction, of_prediction] : by_prediction) {
    for (ErrorSummary& summary : summaries_of(of_prediction)) {
      summary.prediction = prediction;
      all.push_back(std::move(summary));
    }
  }
  return all;
}

RunSet read_run_set(const std::filesystem::path& folder) {
  RunSet set;
  core::Faults faults;
  for (const auto& [name, files] : files_by_configuration(folder)) {
    if (files.predicted.empty() || files.measured.empty()) {
      for (const auto& [prediction, path] : files.predicted) set.unpaired.push_back(path.string());
      for (const auto& path : files.measured) set.unpaired.push_back(path.string());
      continue;
    }
    try {
      add_rows(name, files, set.rows);
    } catch (const core::ConfigError& error) {
      for (const core::Fault& fault : error.faults()) faults.add(fault);
    }
  }
  faults.throw_if_any();
  if (set.rows.empty()) {
    throw core::ConfigError(folder.string(), "",
                            "holds no pair <name>.predicted.json, <name>.measured.<k>.json (give a "
                            "folder with at least one)");
  }
  std::stable_sort(set.rows.begin(), set.rows.end(), [](const RunSetRow& a, const RunSetRow& b) {
    return a.prediction < b.prediction;
  });
  set.summaries = summarise(set.rows);
  return set;
}

}  // namespace paceline::validate
