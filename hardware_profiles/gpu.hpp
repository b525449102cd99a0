#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "core/vocabulary.hpp"
#include "hardware_profiles/lookup.hpp"
#include "hardware_profiles/sourced.hpp"

/// GPUs as `gpus/*.json` describe them (gpus/README.md: keys, units, certainties).
namespace paceline::hardware_profiles {

enum class GpuArchitecture : std::uint8_t { pascal, volta, turing, ampere, ada, hopper, blackwell };
enum class FormFactor : std::uint8_t { pcie, sxm };
/// Wired in the node, or a bridge for pairs that is bought apart.
enum class NvlinkAttachment : std::uint8_t { board, bridge };

/// A PCI Express interface.
struct Pcie {
  int generation = 3;
  int lanes = 16;
  std::string source;
  Certainty certainty = Certainty::assumed;

  /// Line rate in each direction after coding; 1e9 bytes a second.
  [[nodiscard]] double bandwidth_gb_per_s() const;
};

/// All NVLinks of one GPU.
struct Nvlink {
  int generation = 1;
  double bandwidth_gb_per_s_per_direction = 0;
  NvlinkAttachment attachment = NvlinkAttachment::board;
  std::string source;
  Certainty certainty = Certainty::assumed;
};

struct Gpu {
  std::string id;
  std::string name;
  std::vector<std::string> aliases;
  std::vector<std::string> nvidia_smi_names;
  GpuArchitecture architecture = GpuArchitecture::pascal;
  std::string compute_capability;  // "8.6"
  FormFactor form_factor = FormFactor::pcie;
  Sources sources;
  Sourced<double> memory_gib;
  Sourced<double> memory_bandwidth_gb_per_s;
  Sourced<std::int64_t> streaming_multiprocessors;
  Sourced<double> boost_clock_mhz;
  /// Dense, by operand type; empty where the chip has none.
  core::PerEnum<core::DataType, std::optional<Sourced<double>>> dense_peak_tflop_per_s;
  Sourced<double> l2_cache_mib;
  Pcie pcie;
  std::optional<Nvlink> nvlink;
  Sourced<bool> peer_to_peer_over_pcie;
  Sourced<double> board_power_w;
  std::optional<std::string> default_node;

  /// 86 for "8.6".
  [[nodiscard]] int compute_capability_number() const;
};

/// Lower case, with every run of blanks, hyphens and slashes as one underscore.
[[nodiscard]] std::string plain_name(std::string_view name);

/// All cards that `--profiles` and the other profile folders describe, by every name they go by.
class GpuCatalog {
 public:
  /// Reads all gpu files; the first folder that has an id wins.
  /// Throws `core::ConfigError` with the faults of all files.
  explicit GpuCatalog(std::string_view profiles);

  struct Match {
    const Gpu* gpu = nullptr;  // lives as long as the catalog
    std::string problem;       // why there is none
    /// Those that the name may mean, if it fits several.
    std::vector<const Gpu*> candidates{};
  };
  /// By id, alias or the name that nvidia-smi prints. A name that fits several cards matches none:
  /// the problem names them and what differs.
  [[nodiscard]] Match find(std::string_view name) const;
  [[nodiscard]] const std::vector<Gpu>& gpus() const { return gpus_; }

 private:
  void add_ambiguous_names(const std::filesystem::path& path);
  [[nodiscard]] std::string several(std::string_view name,
                                    const std::vector<std::size_t>& ids) const;

  std::vector<Gpu> gpus_;
  std::map<std::string, std::vector<std::size_t>> by_name_;
};

/// Reads one gpu file. Throws `core::ConfigError` with every fault.
[[nodiscard]] Gpu read_gpu(const std::filesystem::path& path);

/// Throws `core::ConfigError` if no card, or more than one, has that name.
[[nodiscard]] Gpu find_gpu(std::string_view name, std::string_view profiles = {});

[[nodiscard]] std::vector<ProfileEntry> list_gpus(std::string_view profiles = {});

/// JSON Schema of a gpu file.
[[nodiscard]] std::string gpu_schema();

}  // namespace paceline::hardware_profiles

namespace paceline::core {

template <>
struct Spelling<hardware_profiles::GpuArchitecture> {
  static constexpr std::array words{"pascal", "volta",  "turing",   "ampere",
                                    "ada",    "hopper", "blackwell"};
};
template <>
struct Spelling<hardware_profiles::FormFactor> {
  static constexpr std::array words{"pcie", "sxm"};
};
template <>
struct Spelling<hardware_profiles::NvlinkAttachment> {
  static constexpr std::array words{"board", "bridge"};
};

}  // namespace paceline::core
