#include "validate/compare.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/json.hpp"

namespace paceline::validate {
namespace {

using core::Report;
using core::TimelinePhase;

/// What a prediction may lose when picoseconds become a number of microseconds.
constexpr double predicted_slack_us = 1e-6;
constexpr double measured_slack = 0.01;

std::string number(double value) { return core::Json(value).dump(); }

double relative_error(double predicted, double measured) {
  if (measured > 0.0) return predicted / measured - 1.0;
  return predicted > 0.0 ? std::numeric_limits<double>::infinity() : 0.0;
}

double sum_of_phases(const core::PhaseTimes& phases) {
  double sum = 0.0;
  for (const double phase_us : phases) sum += phase_us;
  return sum;
}

std::string fault_of_phases(const core::RankReport& rank, double step_us, core::ReportKind kind) {
  const double sum = sum_of_phases(rank.phases_us);
  const bool predicted = kind == core::ReportKind::predicted;
  const double slack = predicted
                           ? predicted_slack_us * static_cast<double>(core::count_of<TimelinePhase>)
                           : measured_slack * step_us;
  if (std::abs(sum - step_us) <= slack) return {};
  return "phases of rank " + std::to_string(rank.rank) + " sum to " + number(sum) +
         " us (must be the step of " + number(step_us) + " us within " +
         (predicted ? "1 ps a phase)" : "1 %)");
}

/// Times by id in the order of the first report, then what only the second one has.
class Join {
 public:
  explicit Join(double factor) : factor_(factor) {}

  void predicted(const std::string& what, double time_us) { entry(what).predicted_us += time_us; }
  void measured(const std::string& what, double time_us) {
    Difference& difference = entry(what);
    difference.measured_us += time_us;
    difference.normalised_us += time_us * factor_;
  }
  [[nodiscard]] std::vector<Difference> take() { return std::move(differences_); }

 private:
  Difference& entry(const std::string& what) {
    const auto [found, is_new] = places_.try_emplace(what, differences_.size());
    if (is_new) differences_.emplace_back().what = what;
    return differences_[found->second];
  }

  double factor_;
  std::map<std::string, std::size_t> places_;
  std::vector<Difference> differences_;
};

double rate_factor(const Report& predicted, const Report& measured) {
  if (!predicted.reference_rate || !measured.reference_rate) return 1.0;
  return measured.reference_rate->gflop_per_s / predicted.reference_rate->gflop_per_s;
}

core::PhaseTimes mean_over_ranks(const Report& report) {
  core::PhaseTimes mean;
  for (const core::RankReport& rank : report.ranks) {
    for (std::size_t i = 0; i < core::count_of<TimelinePhase>; ++i) {
      const auto phase = static_cast<TimelinePhase>(i);
      mean[phase] +=
          rank.phases_us[phase] * rank.represents / static_cast<double>(report.world_size);
    }
  }
  return mean;
}

Difference compare_steps(const Report& predicted, const Report& measured, double factor) {
  if (!predicted.step_time_us || !measured.step_time_us) {
    throw core::InvariantError("a report without a step time passed the check");
  }
  const double measured_us = measured.step_time_us->median;
  return {.what = "step",
          .predicted_us = predicted.step_time_us->median,
          .measured_us = measured_us,
          .normalised_us = measured_us * factor};
}

std::vector<Difference> compare_phases(const Report& predicted, const Report& measured,
                                       double factor) {
  Join join(factor);
  const core::PhaseTimes by_prediction = mean_over_ranks(predicted);
  const core::PhaseTimes by_measurement = mean_over_ranks(measured);
  for (std::size_t i = 0; i < core::count_of<TimelinePhase>; ++i) {
    const auto phase = static_cast<TimelinePhase>(i);
    const std::string what(core::spelling(phase));
    join.predicted(what, by_prediction[phase]);
    join.measured(what, by_measurement[phase]);
  }
  return join.take();
}

/// How to say that something stands on one side only.
struct SideNotes {
  std::string only_predicted = "only predicted";
  std::string only_measured = "only measured";
};

template <class Item>
std::vector<std::string> ids_in_one(const std::vector<Item>& predicted,
                                    const std::vector<Item>& measured, const std::string& what,
                                    const SideNotes& notes) {
  const auto ids_of = [](const std::vector<Item>& items) {
    std::set<std::string> ids;
    for (const Item& item : items) ids.insert(item.id);
    return ids;
  };
  const std::set<std::string> a = ids_of(predicted);
  const std::set<std::string> b = ids_of(measured);
  std::vector<std::string> lines;
  const auto add = [&](const std::string& id, const std::string& side) {
    lines.emplace_back(what).append(" ").append(id).append(" (").append(side).append(")");
  };
  for (const std::string& id : a) {
    if (!b.contains(id)) add(id, notes.only_predicted);
  }
  for (const std::string& id : b) {
    if (!a.contains(id)) add(id, notes.only_measured);
  }
  return lines;
}

template <class Item>
void find_twice(const std::vector<Item>& items, const std::string& what,
                std::vector<std::string>& faults) {
  std::set<std::string> seen;
  for (const Item& item : items) {
    if (!seen.insert(item.id).second) {
      faults.push_back(what + " " + item.id + " stands there twice (each may stand once)");
    }
  }
}

std::string shown_hashes(const std::vector<std::string>& hashes) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < hashes.size() && i < most; ++i) {
    text += (i == 0 ? "" : " ") + hashes[i];
  }
  return hashes.size() > most ? text + " …" : text;
}

/// What keeps either report from being compared with anything.
void find_untrustworthy(const Report& report, const std::string& name, core::Faults& faults) {
  for (const std::string& fault : faults_of(report)) faults.add({name, "", fault});
  if (!report.step_time_us) {
    faults.add({name, "/step_time_us", "is missing (a run that does not fit has no time)"});
  }
}

/// What keeps a prediction and a measurement from being compared.
void check_comparable(const Report& predicted, const Report& measured,
                      const std::string& predicted_name, const std::string& measured_name) {
  core::Faults faults;
  const auto differ = [&](const std::string& pointer, const std::string& a, const std::string& b,
                          const std::string& of_what) {
    if (a == b) return;
    faults.add({measured_name, pointer,
                "got " + b + " but " + predicted_name + " has " + a +
                    " (both must be of the same " + of_what + ")"});
  };
  differ("/identity/experiment_hash", predicted.identity.experiment_hash,
         measured.identity.experiment_hash, "experiment");
  differ("/identity/program_hashes", shown_hashes(predicted.identity.program_hashes),
         shown_hashes(measured.identity.program_hashes), "Program");
  find_untrustworthy(predicted, predicted_name, faults);
  find_untrustworthy(measured, measured_name, faults);
  faults.throw_if_any();
}

const std::string& class_of(const core::OperationReport& operation) {
  static const std::map<std::string, std::size_t> places{{"matmul", 0},
                                                         {"attention", 1},
                                                         {"attention_gradient", 1},
                                                         {"layer_norm", 2},
                                                         {"layer_norm_gradient", 2}};
  constexpr std::size_t elementwise = 3;
  constexpr std::size_t optimizer = 4;
  if (operation.phase == core::spelling(core::Phase::optimizer)) {
    return operation_classes()[optimizer];
  }
  const auto place = places.find(operation.kind);
  return operation_classes()[place == places.end() ? elementwise : place->second];
}

/// Rank 0's time in each class.
std::map<std::string, double> time_by_class(const Report& report) {
  const core::PhaseTimes& phases = report.ranks.front().phases_us;
  std::map<std::string, double> times;
  times["collectives"] = phases[TimelinePhase::exposed_communication];
  times["waits"] = phases[TimelinePhase::straggler_wait] + phases[TimelinePhase::data_wait] +
                   phases[TimelinePhase::copy_wait] + phases[TimelinePhase::pipeline_bubble];
  for (const core::OperationReport& operation : report.operations) {
    const bool is_in_a_phase_above = operation.phase == core::spelling(core::Phase::data) ||
                                     operation.phase == core::spelling(core::Phase::communication);
    if (!is_in_a_phase_above) times[class_of(operation)] += operation.time_us.median;
  }
  double host = report.step_time_us ? report.step_time_us->median : 0.0;
  for (const auto& [name, time_us] : times) host -= time_us;
  times["host"] = host;
  return times;
}

std::vector<Difference> compare_classes(const Report& predicted, const Report& measured,
                                        double factor) {
  Join join(factor);
  std::map<std::string, double> by_prediction = time_by_class(predicted);
  std::map<std::string, double> by_measurement = time_by_class(measured);
  for (const std::string& name : operation_classes()) {
    join.predicted(name, by_prediction[name]);
    join.measured(name, by_measurement[name]);
  }
  return join.take();
}

/// Ranks that contradict each other about what they did together.
void find_disagreement(const Report& report, std::vector<std::string>& faults) {
  std::set<int> seen;
  for (const core::RankReport& rank : report.ranks) {
    if (!seen.insert(rank.rank).second) {
      faults.push_back("rank " + std::to_string(rank.rank) +
                       " stands there twice (each may stand once)");
    }
  }
  if (report.counted_work.size() != report.ranks.size()) return;
  const auto calls = [&](std::size_t entry) {
    const auto found = report.counted_work[entry].find("all_reduce");
    return found == report.counted_work[entry].end() ? 0 : found->second.calls;
  };
  const auto flops = [&](std::size_t entry) {
    std::int64_t sum = 0;
    for (const auto& [kind, work] : report.counted_work[entry]) sum += work.flops.value();
    return sum;
  };
  const auto differ = [&](std::size_t a, std::size_t b, const std::string& what, std::int64_t of_a,
                          std::int64_t of_b) {
    if (of_a == of_b) return;
    faults.push_back("rank " + std::to_string(report.ranks[b].rank) + " counted " +
                     std::to_string(of_b) + " " + what + ", rank " +
                     std::to_string(report.ranks[a].rank) + " " + std::to_string(of_a) +
                     " (must be the same)");
  };
  std::int64_t images = 0;
  for (const core::RankReport& rank : report.ranks) images += rank.micro_batch * rank.represents;
  const bool accumulate_alike = images * report.accumulation_steps == report.global_batch;
  std::map<std::int64_t, std::size_t> first_with_batch;
  for (std::size_t entry = 0; entry < report.ranks.size(); ++entry) {
    differ(0, entry, "all-reduces", calls(0), calls(entry));
    if (!accumulate_alike) continue;
    const std::size_t alike =
        first_with_batch.try_emplace(report.ranks[entry].micro_batch, entry).first->second;
    differ(alike, entry, "FLOPs with the same micro-batch", flops(alike), flops(entry));
  }
}

/// Both reports have passed the checks.
Comparison joined(const Report& predicted, const Report& measured, const SideNotes& notes) {
  const double factor = rate_factor(predicted, measured);
  Comparison comparison;
  comparison.step = compare_steps(predicted, measured, factor);
  comparison.phases = compare_phases(predicted, measured, factor);
  comparison.classes = compare_classes(predicted, measured, factor);

  Join kinds(factor);
  Join operations(factor);
  for (const core::OperationReport& operation : predicted.operations) {
    kinds.predicted(operation.kind, operation.time_us.median);
    operations.predicted(operation.id, operation.time_us.median);
  }
  for (const core::OperationReport& operation : measured.operations) {
    kinds.measured(operation.kind, operation.time_us.median);
    operations.measured(operation.id, operation.time_us.median);
  }
  comparison.kinds = kinds.take();
  comparison.operations = operations.take();

  Join collectives(factor);
  for (const auto& collective : predicted.collectives) {
    collectives.predicted(collective.id, collective.time_us);
  }
  for (const auto& collective : measured.collectives) {
    collectives.measured(collective.id, collective.time_us);
  }
  comparison.collectives = collectives.take();

  comparison.only_in_one =
      ids_in_one(predicted.operations, measured.operations, "operation", notes);
  for (std::string& line :
       ids_in_one(predicted.collectives, measured.collectives, "collective", notes)) {
    comparison.only_in_one.push_back(std::move(line));
  }
  return comparison;
}

}  // namespace

const std::vector<std::string>& operation_classes() {
  static const std::vector<std::string> classes{
      "products", "attention", "norms", "elementwise", "optimizer", "host", "collectives", "waits"};
  return classes;
}

bool same_experiment(const Report& a, const Report& b) {
  return a.identity.experiment_hash == b.identity.experiment_hash;
}

double Difference::raw_error() const { return relative_error(predicted_us, measured_us); }

double Difference::normalised_error() const { return relative_error(predicted_us, normalised_us); }

std::vector<std::string> faults_of(const Report& report) {
  std::vector<std::string> faults;
  std::int64_t represented = 0;
  for (const core::RankReport& rank : report.ranks) {
    represented += rank.represents;
    if (!report.step_time_us) continue;
    std::string fault = fault_of_phases(rank, report.step_time_us->median, report.kind);
    if (!fault.empty()) faults.push_back(std::move(fault));
  }
  if (represented != report.world_size) {
    faults.push_back("ranks stand for " + std::to_string(represented) + " ranks (must be the " +
                     std::to_string(report.world_size) + " of world_size)");
  }
  for (const core::CollectiveReport& collective : report.collectives) {
    if (collective.ranks >= 2) continue;
    if (collective.algbw_gb_per_s > 0.0 || collective.busbw_gb_per_s > 0.0) {
      faults.push_back("collective " + collective.id +
                       " has a bandwidth measured by one rank alone (must be 2 ranks or more)");
    }
  }
  find_disagreement(report, faults);
  find_twice(report.collectives, "collective", faults);
  find_twice(report.operations, "operation", faults);
  return faults;
}

Comparison compare(const Report& predicted, const Report& measured,
                   const std::string& predicted_name, const std::string& measured_name) {
  check_comparable(predicted, measured, predicted_name, measured_name);
  return joined(predicted, measured, {});
}

Comparison compare_alike(const Report& compared, const Report& baseline,
                         const std::string& compared_name, const std::string& baseline_name) {
  core::Faults faults;
  find_untrustworthy(compared, compared_name, faults);
  find_untrustworthy(baseline, baseline_name, faults);
  faults.throw_if_any();
  return joined(
      compared, baseline,
      {.only_predicted = "only in " + compared_name, .only_measured = "only in " + baseline_name});
}

}  // namespace paceline::validate
