#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.hpp"
#include "hardware_profiles/cluster.hpp"
#include "models/experiment.hpp"
#include "models/program.hpp"
#include "sim/simulation/costed_program.hpp"
#include "sim/simulation/step_simulation.hpp"

/// Devices, clusters and Programs whose times can be added up by hand.
namespace paceline::sim::testing {

/// A device with one level for `active_ranks`, on which one call of each class takes so long.
[[nodiscard]] hardware_profiles::CpuDevice device_of_calls(
    const std::string& id, int active_ranks, const std::map<std::string, double>& us_per_call);

/// Ranks on one node, each joined to one switch. `devices[i % size]` is rank i's.
[[nodiscard]] hardware_profiles::Cluster star_cluster(
    int ranks, const std::vector<hardware_profiles::CpuDevice>& devices, double latency_us,
    double bytes_per_us);

/// The same with a direct link between each two ranks, which may have a measured table.
[[nodiscard]] hardware_profiles::Cluster meshed_cluster(
    int ranks, const std::vector<hardware_profiles::CpuDevice>& devices, double latency_us,
    double bytes_per_us, const std::vector<hardware_profiles::ExchangePoint>& table = {});

/// Builds a Program operation by operation, in issue order.
class HandMadeProgram {
 public:
  HandMadeProgram(int rank, int world_size);

  /// A kernel of the class that `kind` names, in the phase that suits it.
  HandMadeProgram& kernel(core::OperationKind kind, std::string_view role);
  HandMadeProgram& all_reduce(std::int64_t elements, core::Stream stream, std::string_view role);
  /// The next operation waits for the last all_reduce.
  HandMadeProgram& after_last_all_reduce();

  [[nodiscard]] models::Program build();

 private:
  void add(models::Operation operation);

  models::Program program_;
  std::vector<models::OperationId> next_dependencies_;
  models::OperationId last_all_reduce_;
  std::int64_t issued_ = 0;
};

/// Programs costed on a cluster and simulated; keeps alive what the result refers to.
class Simulated {
 public:
  Simulated(std::vector<models::Program> programs, const hardware_profiles::Cluster& cluster,
            Timeline::Keep keep = Timeline::Keep::sums);

  [[nodiscard]] const SimulationResult& result() const { return result_; }
  [[nodiscard]] const std::vector<models::Program>& programs() const { return programs_; }
  [[nodiscard]] std::int64_t step_ps() const { return result_.step_time.ps(); }
  [[nodiscard]] std::int64_t phase_ps(std::size_t rank, core::TimelinePhase phase) const {
    return result_.ranks.at(rank).phases[phase].ps();
  }

 private:
  std::vector<models::Program> programs_;
  SimulationResult result_;
};

/// Costs `programs` on the levels for all of them being active.
[[nodiscard]] World costed(const std::vector<models::Program>& programs,
                           const hardware_profiles::Cluster& cluster);

/// A model of a few thousand parameters.
[[nodiscard]] models::Experiment small_experiment(std::int64_t world_size);

/// Gives every level of `device` a coefficient for every feature of every kernel of `experiment`,
/// drawn from `random`, and the residual 0.1.
void add_kernels(const models::Experiment& experiment, core::Random& random,
                 hardware_profiles::CpuDevice& device);

/// A device with levels for 1 … `most_ranks` active ranks that can run `experiment`.
[[nodiscard]] hardware_profiles::CpuDevice random_device(const std::string& id,
                                                         const models::Experiment& experiment,
                                                         int most_ranks, core::Random& random);

}  // namespace paceline::sim::testing
