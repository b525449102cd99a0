#include "hand_made.hpp"

#include "core/time.hpp"
#include "models/kernel_class.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/collectives/exchange_cost.hpp"
#include "sim/compute/kernel_cost.hpp"

namespace paceline::sim::testing {
namespace {

using hardware_profiles::Cluster;
using hardware_profiles::CpuDevice;
using hardware_profiles::VertexId;

Cluster ranks_of(int ranks, const std::vector<CpuDevice>& devices) {
  Cluster cluster;
  cluster.id = "hand_made";
  cluster.origin = "hand_made.json";
  cluster.hash = "0123456789abcdef";
  for (const CpuDevice& device : devices) cluster.cpu_devices[device.id] = device;
  for (int rank = 0; rank < ranks; ++rank) {
    cluster.vertices.push_back(
        {.name = "node0/rank" + std::to_string(rank), .node = 0, .kind = "cpu_rank"});
    const auto number = static_cast<std::size_t>(rank);
    cluster.slots.push_back({.vertex = VertexId(number),
                             .node = 0,
                             .device = devices[number % devices.size()].id,
                             .gpu = ""});
  }
  return cluster;
}

void join(Cluster& cluster, std::size_t a, std::size_t b, double latency_us, double bytes_per_us,
          const std::vector<hardware_profiles::ExchangePoint>& table) {
  hardware_profiles::Link link;
  link.a = VertexId(a);
  link.b = VertexId(b);
  link.kind = "shared_memory";
  link.bandwidth = core::ByteRate(bytes_per_us * 1e6);
  link.latency = core::Time::from_us(latency_us);
  link.measured = table;
  cluster.links.push_back(link);
}

core::Phase phase_of(core::OperationKind kind) {
  switch (kind) {
    case core::OperationKind::load_batch:
      return core::Phase::data;
    case core::OperationKind::gelu_gradient:
      return core::Phase::backward;
    case core::OperationKind::adamw:
      return core::Phase::optimizer;
    case core::OperationKind::all_reduce:
      return core::Phase::communication;
    default:
      return core::Phase::forward;
  }
}

}  // namespace

CpuDevice device_of_calls(const std::string& id, int active_ranks,
                          const std::map<std::string, double>& us_per_call) {
  CpuDevice device;
  device.id = id;
  device.name = "Device " + id;
  device.memory_gib = 1;
  hardware_profiles::CpuLevel& level = device.levels.emplace_back();
  level.active_ranks = active_ranks;
  level.reference_gflop_per_s = 50;
  for (const auto& [name, us] : us_per_call) {
    level.kernels[name] = {.us_per_feature = {{"call", us},
                                              {"bytes", 0.0},
                                              {"bytes_beyond_1_mib", 0.0},
                                              {"bytes_beyond_16_mib", 0.0}},
                           .residual = 0.1,
                           .rows = 10};
  }
  return device;
}

Cluster star_cluster(int ranks, const std::vector<CpuDevice>& devices, double latency_us,
                     double bytes_per_us) {
  Cluster cluster = ranks_of(ranks, devices);
  cluster.vertices.push_back({.name = "node0/switch", .node = 0, .kind = "switch"});
  for (int rank = 0; rank < ranks; ++rank) {
    join(cluster, static_cast<std::size_t>(rank), static_cast<std::size_t>(ranks), latency_us,
         bytes_per_us, {});
  }
  return cluster;
}

Cluster meshed_cluster(int ranks, const std::vector<CpuDevice>& devices, double latency_us,
                       double bytes_per_us,
                       const std::vector<hardware_profiles::ExchangePoint>& table) {
  Cluster cluster = ranks_of(ranks, devices);
  for (std::size_t a = 0; a < static_cast<std::size_t>(ranks); ++a) {
    for (std::size_t b = a + 1; b < static_cast<std::size_t>(ranks); ++b) {
      join(cluster, a, b, latency_us, bytes_per_us, table);
    }
  }
  return cluster;
}

HandMadeProgram::HandMadeProgram(int rank, int world_size) {
  program_.interpreter = "paceline_cpu";
  program_.rank = rank;
  program_.world_size = world_size;
  models::Communicator world{.name = "world"};
  for (int member = 0; member < world_size; ++member) world.ranks.push_back(member);
  program_.communicators.push_back(world);
  program_.dependency_offsets.push_back(0);
}

HandMadeProgram& HandMadeProgram::kernel(core::OperationKind kind, std::string_view role) {
  add({.kind = kind,
       .phase = phase_of(kind),
       .role = role,
       .shape = models::ElementsShape{.elements = 1}});
  return *this;
}

HandMadeProgram& HandMadeProgram::all_reduce(std::int64_t elements, core::Stream stream,
                                             std::string_view role) {
  add({.kind = core::OperationKind::all_reduce,
       .phase = core::Phase::communication,
       .stream = stream,
       .role = role,
       .shape = models::CollectiveShape{.communicator = models::CommunicatorId(0),
                                        .sequence = issued_++,
                                        .elements = elements}});
  last_all_reduce_ = models::OperationId(program_.operations.size() - 1);
  return *this;
}

HandMadeProgram& HandMadeProgram::after_last_all_reduce() {
  next_dependencies_.push_back(last_all_reduce_);
  return *this;
}

void HandMadeProgram::add(models::Operation operation) {
  program_.operations.push_back(operation);
  program_.dependencies.insert(program_.dependencies.end(), next_dependencies_.begin(),
                               next_dependencies_.end());
  next_dependencies_.clear();
  program_.dependency_offsets.push_back(static_cast<std::uint32_t>(program_.dependencies.size()));
}

models::Program HandMadeProgram::build() { return program_; }

World costed(const std::vector<models::Program>& programs, const Cluster& cluster) {
  std::vector<KernelCost> kernels;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const CpuDevice& device = cluster.device_of(static_cast<int>(rank));
    const hardware_profiles::CpuLevel* chosen = nullptr;
    for (const auto& level : device.levels) {
      if (level.active_ranks == static_cast<int>(programs.size())) chosen = &level;
    }
    if (chosen == nullptr) throw core::InvariantError("no such level");
    kernels.emplace_back(device, *chosen, cluster.origin, "/levels");
  }
  ExchangeCost exchanges(cluster);
  FaultSet faults;
  World world = cost_world(programs, kernels, exchanges, faults);
  for (const KernelCost& cost : kernels) cost.report_missing(faults);
  faults.throw_if_any();
  return world;
}

Simulated::Simulated(std::vector<models::Program> programs, const Cluster& cluster,
                     Timeline::Keep keep)
    : programs_(std::move(programs)),
      result_(simulate_steps(costed(programs_, cluster), {.keep = keep})) {}

models::Experiment small_experiment(std::int64_t world_size) {
  models::Experiment experiment;
  experiment.framework.name = core::FrameworkKind::paceline;
  experiment.model = {.id = "small",
                      .image_size = 16,
                      .patch_size = 8,
                      .channels = 3,
                      .width = 16,
                      .depth = 2,
                      .heads = 2,
                      .mlp_hidden = 32,
                      .classes = 10};
  experiment.training.micro_batch = {4};
  experiment.parallel.world_size = world_size;
  return experiment;
}

void add_kernels(const models::Experiment& experiment, core::Random& random, CpuDevice& device) {
  for (hardware_profiles::CpuLevel& level : device.levels) {
    for (const models::Operation& operation : models::lower_training(experiment, 0).operations) {
      if (operation.kind == core::OperationKind::all_reduce) continue;
      auto& model = level.kernels[std::string(models::kernel_class(operation))];
      model.residual = 0.1;
      for (const models::KernelFeature& feature : models::kernel_features(operation)) {
        const double scale = feature.name == "call" ? 5.0 : 1e-3;
        model.us_per_feature.try_emplace(std::string(feature.name), scale * random.uniform());
      }
    }
  }
}

CpuDevice random_device(const std::string& id, const models::Experiment& experiment, int most_ranks,
                        core::Random& random) {
  CpuDevice device;
  device.id = id;
  device.name = "Device " + id;
  device.memory_gib = 1;
  device.host_issue_us = random.uniform();
  device.reduction_us_per_call = random.uniform();
  device.reduction_us_per_byte = 1e-3 * random.uniform();
  for (int ranks = 1; ranks <= most_ranks; ++ranks) {
    hardware_profiles::CpuLevel& level = device.levels.emplace_back();
    level.active_ranks = ranks;
    level.reference_gflop_per_s = 50;
  }
  add_kernels(experiment, random, device);
  return device;
}

}  // namespace paceline::sim::testing
