#include <algorithm>
#include <fstream>
#include <set>
#include <thread>
#include <utility>

#include "hardware_profiles/host_cpu.hpp"

namespace paceline::hardware_profiles {
namespace {

/// The text after "key:" or "key\t:"; empty if the line has another key.
std::string value_of(const std::string& line, const std::string& key) {
  if (!line.starts_with(key)) return {};
  const std::size_t begin = line.find_first_not_of(" \t:", key.size());
  return begin == std::string::npos ? std::string() : line.substr(begin);
}

}  // namespace

HostCpu this_host() {
  HostCpu cpu;
  cpu.model = "CPU";
  std::set<std::string> packages;
  std::set<std::pair<std::string, std::string>> cores;
  std::ifstream info("/proc/cpuinfo");
  std::string package = "0";
  for (std::string line; std::getline(info, line);) {
    if (const std::string model = value_of(line, "model name"); !model.empty()) cpu.model = model;
    if (const std::string id = value_of(line, "physical id"); !id.empty()) {
      package = id;
      packages.insert(id);
    }
    if (const std::string id = value_of(line, "core id"); !id.empty()) cores.emplace(package, id);
  }
  cpu.sockets = std::max<std::int64_t>(static_cast<std::int64_t>(packages.size()), 1);
  const auto count = cores.empty() ? std::max(1U, std::thread::hardware_concurrency())
                                   : static_cast<unsigned>(cores.size());
  cpu.cores_per_socket = std::max<std::int64_t>(count / cpu.sockets, 1);
  cpu.memory_gib = memory_gib_of_host();
  return cpu;
}

std::string host_reader() { return "/proc/cpuinfo"; }

}  // namespace paceline::hardware_profiles
