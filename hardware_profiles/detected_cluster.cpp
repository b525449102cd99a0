#include "hardware_profiles/detected_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "hardware_profiles/cluster_file.hpp"
#include "hardware_profiles/gpu.hpp"

namespace paceline::hardware_profiles {
namespace {

constexpr auto from_nvidia_smi = "nvidia_smi";
constexpr auto from_topology = "topology";
constexpr auto from_host = "host";
constexpr auto assumed = "assumed";

/// NCCL's planning rate between sockets of the slowest processors that it knows
/// (src/graph/topo.h: Broadwell 6, Skylake 10, AMD 16, Sapphire Rapids 22); the middle of them.
constexpr double socket_gb_per_s = 10;
/// What two processes exchange through memory where nobody measured it.
constexpr double shared_memory_gb_per_s = 4;

/// Rate of one NVLink and direction, 1e9 bytes/s, by generation (NVIDIA's whitepapers for P100,
/// V100, A100, H100, B200).
double gb_per_s_of_a_link(int generation) {
  constexpr std::array rates{20.0, 25.0, 25.0, 25.0, 50.0};
  const int last = static_cast<int>(rates.size());
  return rates.at(static_cast<std::size_t>(std::clamp(generation, 1, last) - 1));
}

std::string gpu_id(std::size_t index) { return "gpu" + std::to_string(index); }
std::string cpu_id(std::size_t index) { return "cpu" + std::to_string(index); }

NodeLink link_between(std::string a, std::string b, LinkKind kind, double gb_per_s,
                      const char* source) {
  NodeLink link;
  link.between = {std::move(a), std::move(b)};
  link.kind = kind;
  link.bandwidth_gb_per_s = gb_per_s;
  link.source = source;
  return link;
}

NodeDevice device_of(std::string id, DeviceKind kind, std::optional<std::int64_t> socket) {
  NodeDevice device;
  device.id = std::move(id);
  device.kind = kind;
  device.socket = socket;
  return device;
}

/// Turns the texts of one machine into a node.
class Machine {
 public:
  Machine(const MachineTexts& texts, const std::map<std::string, std::string>& cards,
          std::string_view profiles)
      : texts_(texts), named_cards_(cards), catalog_(profiles) {}

  DetectedCluster detect();

 private:
  void read_cards();
  [[nodiscard]] const Gpu* card_of(const GpuRow& row, std::string& problem);
  void read_topology_of_cards();
  void read_host();
  void find_sockets();
  void find_switches();
  void add_devices();
  void add_pcie_links();
  [[nodiscard]] double pcie_gb_per_s(std::size_t gpu);
  void add_nvlinks();
  [[nodiscard]] double nvlink_gb_per_s(std::size_t a, std::size_t b) const;
  void find_peers();
  void note(std::string sentence) {
    if (std::find(notes_.begin(), notes_.end(), sentence) == notes_.end()) {
      notes_.push_back(std::move(sentence));
    }
  }

  const MachineTexts& texts_;
  const std::map<std::string, std::string>& named_cards_;
  GpuCatalog catalog_;
  std::vector<GpuRow> rows_;
  std::vector<const Gpu*> cards_;
  TopologyMatrix topology_;
  std::optional<HostCpu> host_;
  std::vector<std::size_t> socket_of_;  // of each device of the topology
  std::size_t sockets_ = 1;
  std::vector<std::optional<std::size_t>> switch_of_;
  std::size_t switches_ = 0;
  NodeGroup node_;
  std::vector<std::string> notes_;
};

const Gpu* Machine::card_of(const GpuRow& row, std::string& problem) {
  const auto named = named_cards_.find(row.name);
  const auto match = catalog_.find(named == named_cards_.end() ? row.name : named->second);
  if (match.gpu != nullptr) return match.gpu;
  // Of several candidates the memory may leave one: drivers report up to 6 % less than the label.
  constexpr double tolerance = 0.06;
  if (row.memory_gib && match.candidates.size() > 1) {
    const Gpu* fitting = nullptr;
    std::size_t count = 0;
    for (const Gpu* candidate : match.candidates) {
      if (std::abs(candidate->memory_gib.value / *row.memory_gib - 1) > tolerance) continue;
      fitting = candidate;
      ++count;
    }
    if (count == 1) {
      note(fmt::format("\"{}\" with {:.1f} GiB is the {}: no other card of that name has as much.",
                       row.name, *row.memory_gib, fitting->id));
      return fitting;
    }
  }
  problem = match.problem;
  if (row.memory_gib) problem += fmt::format("; this one has {:.1f} GiB", *row.memory_gib);
  problem += fmt::format(
      " (say which with --card '{}=ID'; a card without a file: copy the nearest "
      "to ~/.local/share/paceline/gpus and edit it)",
      row.name);
  return nullptr;
}

void Machine::read_cards() {
  rows_ = read_gpu_rows(texts_.gpus);
  core::Faults faults;
  std::set<std::string> told;
  for (const GpuRow& row : rows_) {
    std::string problem;
    const Gpu* card = card_of(row, problem);
    if (card == nullptr && told.insert(row.name).second) {
      faults.add({texts_.gpus.name, "", problem});
    }
    cards_.push_back(card);
  }
  for (const auto& [name, id] : named_cards_) {
    const bool used = std::any_of(rows_.begin(), rows_.end(),
                                  [&](const GpuRow& row) { return row.name == name; });
    if (!used) {
      faults.add({texts_.gpus.name, "",
                  "--card names \"" + name + "\", which no GPU here is called (names: " +
                      rows_.front().name + (rows_.size() > 1 ? ", …" : "") + ")"});
    }
  }
  faults.throw_if_any();
}

void Machine::read_topology_of_cards() {
  if (texts_.topology) {
    topology_ = read_topology(*texts_.topology);
    if (topology_.gpus != rows_.size()) {
      throw core::ConfigError(
          texts_.topology->name, "",
          fmt::format("has {} GPUs, but {} lists {} (take both from one machine, without "
                      "CUDA_VISIBLE_DEVICES)",
                      topology_.gpus, texts_.gpus.name, rows_.size()));
    }
    return;
  }
  if (rows_.size() > 1) {
    throw core::ConfigError(
        texts_.gpus.name, "",
        fmt::format("lists {} GPUs, and nothing says how they are joined (give the output of "
                    "`{}` with --from-topo)",
                    rows_.size(), topology_query));
  }
  topology_.devices = {"GPU0"};
  topology_.paths = {{Path{}}};
  topology_.numa_node = {std::nullopt};
  topology_.gpus = 1;
}

void Machine::read_host() {
  if (!texts_.host) return;
  host_ = read_lscpu(*texts_.host);
  node_.cpu = NodeCpu{host_->sockets, host_->cores_per_socket, from_host, Certainty::measured};
  if (host_->memory_gib) {
    node_.memory_gib = Sourced<double>{*host_->memory_gib, from_host, Certainty::measured};
  }
}

/// Devices share a CPU vertex if they name the same NUMA node, or if a way between them that does
/// not leave it says so; NVLink hides that way, so those pairs say nothing.
void Machine::find_sockets() {
  const std::size_t count = topology_.devices.size();
  std::vector<std::optional<std::size_t>> socket(count);
  std::map<int, std::size_t> of_numa;
  sockets_ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto& numa_node = topology_.numa_node[i]) {
      const auto [found, is_new] = of_numa.emplace(*numa_node, sockets_);
      if (is_new) ++sockets_;
      socket[i] = found->second;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; !socket[i] && j < count; ++j) {
      const Proximity way = topology_.paths[i][j].proximity;
      const bool inside = way == Proximity::pix || way == Proximity::pxb || way == Proximity::phb ||
                          way == Proximity::node;
      if (inside && socket[j]) socket[i] = socket[j];
    }
    if (socket[i]) continue;
    const bool leaves =
        std::any_of(topology_.paths[i].begin(), topology_.paths[i].end(),
                    [](const Path& path) { return path.proximity == Proximity::sys; });
    if (leaves || sockets_ == 0) ++sockets_;
    socket[i] = leaves ? sockets_ - 1 : 0;
  }
  for (const auto& one : socket) socket_of_.push_back(one.value_or(0));
}

/// Devices that reach each other through bridges alone hang on one switch.
void Machine::find_switches() {
  const std::size_t count = topology_.devices.size();
  switch_of_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (switch_of_[i]) continue;
    std::vector<std::size_t> members{i};
    for (std::size_t next = 0; next < members.size(); ++next) {
      for (std::size_t j = 0; j < count; ++j) {
        const Proximity way = topology_.paths[members[next]][j].proximity;
        if (way != Proximity::pix && way != Proximity::pxb) continue;
        if (std::find(members.begin(), members.end(), j) == members.end()) members.push_back(j);
      }
    }
    if (members.size() == 1) continue;
    for (const std::size_t member : members) switch_of_[member] = switches_;
    ++switches_;
  }
}

void Machine::add_devices() {
  auto& devices = node_.devices.emplace();
  for (std::size_t i = 0; i < sockets_; ++i) {
    devices.push_back(device_of(cpu_id(i), DeviceKind::cpu, static_cast<std::int64_t>(i)));
  }
  for (std::size_t i = 0; i < switches_; ++i) {
    devices.push_back(
        device_of("pcie_switch" + std::to_string(i), DeviceKind::switch_, std::nullopt));
  }
  for (std::size_t i = 0; i < topology_.devices.size(); ++i) {
    const auto socket = static_cast<std::int64_t>(socket_of_[i]);
    if (i < cards_.size()) {
      NodeDevice device = device_of(gpu_id(i), DeviceKind::gpu, socket);
      device.gpu = cards_[i]->id;
      device.source = from_nvidia_smi;
      devices.push_back(std::move(device));
    } else {
      devices.push_back(
          device_of("nic" + std::to_string(i - cards_.size()), DeviceKind::nic, socket));
    }
  }
}

double Machine::pcie_gb_per_s(std::size_t gpu) {
  const GpuRow& row = rows_[gpu];
  Pcie slot = cards_[gpu]->pcie;
  if (row.pcie_generation.max) {
    slot.generation = *row.pcie_generation.max;
    const int now = row.pcie_generation.now.value_or(slot.generation);
    note(fmt::format(
        "{}: PCI Express {}, the maximum of card and slot{}.", gpu_id(gpu), slot.generation,
        now < slot.generation ? fmt::format(" (it runs at {} now: idle links clock down)", now)
                              : ""));
  } else {
    note(
        fmt::format("{}: the driver does not tell the PCI Express generation; the card's own, {}, "
                    "is taken.",
                    gpu_id(gpu), slot.generation));
  }
  if (row.pcie_lanes.now) {
    slot.lanes = *row.pcie_lanes.now;
    if (row.pcie_lanes.max && slot.lanes < *row.pcie_lanes.max) {
      note(
          fmt::format("{}: {} lanes in use now of {} possible; if the slot has more, the link was "
                      "saving power.",
                      gpu_id(gpu), slot.lanes, *row.pcie_lanes.max));
    }
  }
  if (slot.generation < 1 || slot.generation > 6 || slot.lanes < 1 || slot.lanes > 32) {
    throw core::ConfigError(
        texts_.gpus.name, "",
        fmt::format("GPU {} has PCI Express {} with {} lanes (must be 1 to 6, 1 to 32)", row.index,
                    slot.generation, slot.lanes));
  }
  return slot.bandwidth_gb_per_s();
}

void Machine::add_pcie_links() {
  auto& links = node_.links.emplace();
  const std::size_t count = topology_.devices.size();
  double fastest = 0;
  std::vector<double> rates;
  rates.reserve(cards_.size());
  for (std::size_t i = 0; i < cards_.size(); ++i) rates.push_back(pcie_gb_per_s(i));
  fastest = *std::max_element(rates.begin(), rates.end());
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_card = i < cards_.size();
    const std::string from = is_card ? gpu_id(i) : "nic" + std::to_string(i - cards_.size());
    const auto& pcie_switch = switch_of_[i];
    const std::string to =
        pcie_switch ? "pcie_switch" + std::to_string(*pcie_switch) : cpu_id(socket_of_[i]);
    links.push_back(link_between(from, to, LinkKind::pcie, is_card ? rates[i] : fastest,
                                 is_card ? from_nvidia_smi : assumed));
  }
  std::set<std::size_t> joined;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& pcie_switch = switch_of_[i];
    if (!pcie_switch || !joined.insert(*pcie_switch).second) continue;
    links.push_back(link_between("pcie_switch" + std::to_string(*pcie_switch),
                                 cpu_id(socket_of_[i]), LinkKind::pcie, fastest, assumed));
    note(
        "The way from a PCI Express switch to its CPU is assumed to be as wide as the widest "
        "card.");
  }
  for (std::size_t i = 1; i < sockets_; ++i) {
    links.push_back(
        link_between(cpu_id(i - 1), cpu_id(i), LinkKind::socket, socket_gb_per_s, assumed));
    note(fmt::format("Between CPUs {:g} GB/s are assumed (NCCL plans with 6 to 40).",
                     socket_gb_per_s));
  }
  if (count > cards_.size()) {
    note(
        fmt::format("{} network adapters: nvidia-smi does not tell their ports; give each "
                    "\"bandwidth_gbit_per_s\" before you join such nodes.",
                    count - cards_.size()));
  }
}

/// Throws `core::ConfigError` if the card has none.
const Nvlink& nvlink_of(const Gpu& gpu, std::size_t index, const std::string& file) {
  if (gpu.nvlink) return *gpu.nvlink;
  throw core::ConfigError(
      file, "",
      fmt::format(
          "shows NVLink at GPU{}, but the gpu file of {} has none (name the card that it is "
          "with --card)",
          index, gpu.id));
}

double Machine::nvlink_gb_per_s(std::size_t a, std::size_t b) const {
  double rate = 0;
  for (const std::size_t end : {a, b}) {
    const std::string file = texts_.topology ? texts_.topology->name : "topology";
    const Nvlink& nvlink = nvlink_of(*cards_[end], end, file);
    const double here =
        std::min(topology_.paths[a][b].nvlinks * gb_per_s_of_a_link(nvlink.generation),
                 nvlink.bandwidth_gb_per_s_per_direction);
    rate = end == a ? here : std::min(rate, here);
  }
  return rate;
}

void Machine::add_nvlinks() {
  const std::size_t count = cards_.size();
  double most_claimed = 0;  // of what a card has
  std::vector<std::vector<double>> rates(count, std::vector<double>(count, 0));
  for (std::size_t i = 0; i < count; ++i) {
    double claimed = 0;
    for (std::size_t j = 0; j < count; ++j) {
      if (topology_.paths[i][j].proximity != Proximity::nvlink) continue;
      rates[i][j] = nvlink_gb_per_s(i, j);
      claimed += rates[i][j];
    }
    const auto& nvlink = cards_[i]->nvlink;
    if (claimed > 0 && nvlink) {
      most_claimed = std::max(most_claimed, claimed / nvlink->bandwidth_gb_per_s_per_direction);
    }
  }
  if (most_claimed == 0) return;
  constexpr double rounding = 1.01;
  if (most_claimed <= rounding) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        if (rates[i][j] == 0) continue;
        node_.links->push_back(
            link_between(gpu_id(i), gpu_id(j), LinkKind::nvlink, rates[i][j], from_topology));
        note(fmt::format("{} and {}: NVLink, {:g} GB/s each direction.", gpu_id(i), gpu_id(j),
                         rates[i][j]));
      }
    }
    return;
  }
  node_.devices->push_back(device_of("nvswitch", DeviceKind::switch_, std::nullopt));
  for (std::size_t i = 0; i < count; ++i) {
    const double rate = *std::max_element(rates[i].begin(), rates[i].end());
    if (rate == 0) continue;
    node_.links->push_back(
        link_between(gpu_id(i), "nvswitch", LinkKind::nvlink, rate, from_topology));
  }
  note("NVLink: each pair claims the card's whole rate, so an NVSwitch joins the cards.");
}

void Machine::find_peers() {
  if (cards_.size() < 2) return;
  if (!texts_.peers) {
    note("Peer to peer over PCI Express is as the gpu files say: give `" + std::string(peer_query) +
         "` to know.");
    return;
  }
  const auto peers = read_peer_matrix(*texts_.peers);
  if (peers.size() != cards_.size()) {
    throw core::ConfigError(texts_.peers->name, "",
                            fmt::format("has {} GPUs, but {} lists {} (take both from one machine)",
                                        peers.size(), texts_.gpus.name, cards_.size()));
  }
  std::size_t pairs = 0;
  std::size_t reading = 0;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    for (std::size_t j = i + 1; j < peers.size(); ++j) {
      if (topology_.paths[i][j].proximity == Proximity::nvlink) continue;
      ++pairs;
      reading += peers[i][j] && peers[j][i] ? 1 : 0;
    }
  }
  if (pairs == 0) return;
  node_.peer_to_peer_over_pcie =
      Sourced<bool>{reading == pairs, from_topology, Certainty::measured};
  note(fmt::format("{} of {} pairs without NVLink read each other over PCI Express{}.", reading,
                   pairs,
                   reading == 0 || reading == pairs
                       ? ""
                       : "; the file says no, as a ring goes at the pace of its slowest pair"));
}

DetectedCluster Machine::detect() {
  read_cards();
  read_topology_of_cards();
  read_host();
  find_sockets();
  find_switches();
  add_devices();
  add_pcie_links();
  add_nvlinks();
  find_peers();

  ClusterFile file;
  file.id = "this_machine";
  std::map<std::string, int> counts;
  for (const Gpu* card : cards_) ++counts[card->id];
  for (const auto& [id, count] : counts) {
    file.name += (file.name.empty() ? "" : ", ") + std::to_string(count) + " x " + id;
  }
  node_.name = host_ ? host_->model : "this machine";
  const auto title = [](const NamedText& text) { return "on this machine: " + text.name; };
  auto& sources = file.sources.emplace();
  sources[from_nvidia_smi] = {title(texts_.gpus), Certainty::measured};
  if (texts_.topology) sources[from_topology] = {title(*texts_.topology), Certainty::measured};
  if (texts_.host) sources[from_host] = {title(*texts_.host), Certainty::measured};
  sources[assumed] = {"no tool of the driver tells it", Certainty::assumed};
  file.nodes.push_back(std::move(node_));
  std::string uuids;
  for (const GpuRow& row : rows_) uuids += (uuids.empty() ? "" : ", ") + row.uuid;
  file.provenance = {{"gpu_uuids", uuids}};
  return {core::to_text(cluster_fields().write(file)), std::move(notes_)};
}

}  // namespace

DetectedCluster detected_gpu_cluster(const MachineTexts& texts,
                                     const std::map<std::string, std::string>& cards,
                                     std::string_view profiles) {
  return Machine(texts, cards, profiles).detect();
}

DetectedCluster detected_cpu_cluster(const HostCpu& host, std::int64_t usable_cores,
                                     std::optional<double> copy_gb_per_s) {
  constexpr auto cpu_device = "this_cpu";
  constexpr std::int64_t most_ranks = 2048;  // that a link joins in pairs
  const std::int64_t cores = host.sockets * host.cores_per_socket;
  const std::int64_t ranks = std::clamp<std::int64_t>(std::min(cores, usable_cores), 1, most_ranks);
  NodeGroup node;
  node.name = host.model;
  node.cpu = NodeCpu{host.sockets, host.cores_per_socket, from_host, Certainty::measured};
  node.devices.emplace();
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    NodeDevice slot = device_of("rank" + std::to_string(rank), DeviceKind::cpu_rank, std::nullopt);
    slot.cpu_device = cpu_device;
    node.devices->push_back(std::move(slot));
  }
  node.links.emplace();
  if (ranks > 1) {
    NodeLink link;
    link.between.assign(1, std::string(all_cpu_ranks));
    link.kind = LinkKind::shared_memory;
    link.bandwidth_gb_per_s = copy_gb_per_s.value_or(shared_memory_gb_per_s);
    link.source = copy_gb_per_s ? from_host : assumed;
    node.links->push_back(std::move(link));
  }
  CpuDevice device;
  device.name = host.model;
  device.memory_gib = host.memory_gib.value_or(1);
  ClusterFile file;
  file.id = "this_machine";
  file.name = fmt::format("{} x {}, not calibrated", ranks, host.model);
  file.sources.emplace();
  (*file.sources)[from_host] = {"read on this machine", Certainty::measured};
  (*file.sources)[assumed] = {"exchanges through memory before calibration", Certainty::assumed};
  file.nodes.push_back(std::move(node));
  file.cpu_devices.emplace()[cpu_device] = device;

  DetectedCluster found{core::to_text(cluster_fields().write(file)), {}};
  found.notes.push_back(fmt::format("{}: {} physical cores in {} sockets, {:.1f} GiB.", host.model,
                                    cores, host.sockets, device.memory_gib));
  if (ranks < cores) {
    found.notes.push_back(fmt::format(
        "This process may use {} of them, so the cluster has {} ranks.", usable_cores, ranks));
  }
  found.notes.push_back(std::string("Kernel times and exchanges are not measured yet; ") +
                        how_to_calibrate + ".");
  return found;
}

}  // namespace paceline::hardware_profiles
