#include <hwloc.h>

#include <algorithm>

#include "core/error.hpp"
#include "hardware_profiles/host_cpu.hpp"

namespace paceline::hardware_profiles {
namespace {

class Topology {
 public:
  Topology() {
    if (hwloc_topology_init(&topology_) != 0) refuse();
    if (hwloc_topology_load(topology_) != 0) {
      hwloc_topology_destroy(topology_);
      refuse();
    }
  }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  ~Topology() { hwloc_topology_destroy(topology_); }

  [[nodiscard]] std::int64_t count(hwloc_obj_type_t type) const {
    return std::max(hwloc_get_nbobjs_by_type(topology_, type), 1);
  }
  [[nodiscard]] hwloc_obj_t first(hwloc_obj_type_t type) const {
    return hwloc_get_obj_by_type(topology_, type, 0);
  }

 private:
  [[noreturn]] static void refuse() {
    throw core::RunError("hwloc cannot read this machine's topology (is /sys mounted?)");
  }
  hwloc_topology_t topology_ = nullptr;
};

}  // namespace

HostCpu this_host() {
  const Topology topology;
  HostCpu cpu;
  cpu.model = "CPU";
  if (const hwloc_obj_t package = topology.first(HWLOC_OBJ_PACKAGE); package != nullptr) {
    const char* model = hwloc_obj_get_info_by_name(package, "CPUModel");
    if (model != nullptr) cpu.model = model;
  }
  cpu.sockets = topology.count(HWLOC_OBJ_PACKAGE);
  cpu.cores_per_socket = std::max<std::int64_t>(topology.count(HWLOC_OBJ_CORE) / cpu.sockets, 1);
  cpu.memory_gib = memory_gib_of_host();
  return cpu;
}

std::string host_reader() {
  const unsigned version = hwloc_get_api_version();
  return "hwloc " + std::to_string(version >> 16U) + "." + std::to_string((version >> 8U) & 0xFFU);
}

}  // namespace paceline::hardware_profiles
