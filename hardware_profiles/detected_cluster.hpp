#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_profiles/topology_text.hpp"

/// A machine as a cluster file of one node.
namespace paceline::hardware_profiles {

/// What the tools printed; each text may come from a saved file.
struct MachineTexts {
  NamedText gpus;                     // `gpu_query`
  std::optional<NamedText> topology;  // `topology_query`; needed with several GPUs
  std::optional<NamedText> peers;     // `peer_query`
  std::optional<NamedText> host;      // `host_query`
};

struct DetectedCluster {
  std::string text;                // of the cluster file
  std::vector<std::string> notes;  // what was found, taken or assumed: one sentence each
};

/// A machine with GPUs. `cards` says which gpu file a name of nvidia-smi means, where the catalog
/// does not know it or several cards have it; a name that several have is also settled by the
/// memory. `profiles`: as in `GpuCatalog`.
///
/// PCI Express: the generation is the maximum of card and slot (an idle link clocks down), the
/// lanes are those in use now. NVLink: `n` links of a generation carry n × its rate a link, at most
/// what the gpu file says for all of the card; where the pairs of a GPU claim more than that
/// together, an NVSwitch joins them. docs/formulas.md, "Detected links". Throws `core::ConfigError`
/// with every card that is unknown, and for texts that do not agree.
[[nodiscard]] DetectedCluster detected_gpu_cluster(const MachineTexts& texts,
                                                   const std::map<std::string, std::string>& cards,
                                                   std::string_view profiles);

/// A machine without GPUs: one CPU rank for each physical core. `copy_gb_per_s`: rate at which
/// two processes exchange through memory, if it was measured. The ranks have no kernel times until
/// `paceline make-profile` makes them.
[[nodiscard]] DetectedCluster detected_cpu_cluster(const HostCpu& host, std::int64_t usable_cores,
                                                   std::optional<double> copy_gb_per_s);

}  // namespace paceline::hardware_profiles
