#include "hardware_profiles/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "hardware_profiles/ambiguous_names.hpp"
#include "hardware_profiles/gpu_fields.hpp"
#include "hardware_profiles/ranges.hpp"
#include "hardware_profiles/sourced_fields.hpp"

namespace paceline::hardware_profiles {

using core::Cursor;
using core::FieldTable;
using core::Json;

namespace {

const FieldTable<Pcie>& pcie_fields() {
  static const FieldTable<Pcie> table = [] {
    FieldTable<Pcie> fields;
    fields.required("generation", &Pcie::generation, core::integer<int>({.min = 1, .max = 6}),
                    "of the card");
    fields.required("lanes", &Pcie::lanes, core::integer<int>({.min = 1, .max = 32}),
                    "of the card");
    fields.required("source", &Pcie::source, core::text(), "an id in `sources`");
    return fields;
  }();
  return table;
}

const FieldTable<Nvlink>& nvlink_fields() {
  static const FieldTable<Nvlink> table = [] {
    using N = Nvlink;
    FieldTable<N> fields;
    fields.required("generation", &N::generation, core::integer<int>({.min = 1, .max = 99}),
                    "of NVLink");
    fields.required("bandwidth_gb_per_s_per_direction", &N::bandwidth_gb_per_s_per_direction,
                    core::number(gb_per_s_range), "all links of the card, 1e9 bytes/s");
    fields.required("attachment", &N::attachment, core::word<NvlinkAttachment>(),
                    "wired on the board, or a bridge for pairs that is bought apart");
    fields.required("source", &N::source, core::text(), "an id in `sources`");
    return fields;
  }();
  return table;
}

/// Two numbers with a point between them.
core::ValueType<std::string> compute_capability_value() {
  core::ValueType<std::string> type;
  type.read = [](const Json& json, const Cursor& cursor, std::string& value) {
    const std::string text = json.is_string() ? json.get<std::string>() : std::string();
    const auto point = text.find('.');
    const auto digits = [](std::string_view part) {
      return !part.empty() && part.size() <= 3 &&
             std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    if (point == std::string::npos || !digits(std::string_view(text).substr(0, point)) ||
        !digits(std::string_view(text).substr(point + 1)) || text.size() - point != 2) {
      cursor.fault("got " + core::shown(json) + " (must be a text like \"8.6\")");
      return;
    }
    value = text;
  };
  type.write = [](const std::string& value) { return Json(value); };
  type.schema = [] { return Json{{"type", "string"}, {"pattern", "^[0-9]{1,3}\\.[0-9]$"}}; };
  return type;
}

void add_names(FieldTable<Gpu>& fields) {
  fields.required("id", &Gpu::id, core::text(), "the file's name");
  fields.required("name", &Gpu::name, core::text(), "for people");
  fields.defaulted("aliases", &Gpu::aliases, core::list(core::text()),
                   "lower snake case, of this card only");
  fields.defaulted("nvidia_smi_names", &Gpu::nvidia_smi_names, core::list(core::text()),
                   "as nvidia-smi prints them");
  fields.required("architecture", &Gpu::architecture, core::word<GpuArchitecture>(), "of the chip");
  fields.required("compute_capability", &Gpu::compute_capability, compute_capability_value(),
                  "as CUDA numbers it");
  fields.required("form_factor", &Gpu::form_factor, core::word<FormFactor>(), "of the card");
  fields.required("sources", &Gpu::sources, sources_value(), "where numbers come from");
}

void add_numbers(FieldTable<Gpu>& fields) {
  fields.required("memory_gib", &Gpu::memory_gib, sourced(core::number(memory_gib_range)),
                  "as nvidia-smi prints it, 2^30 bytes");
  fields.required("memory_bandwidth_gb_per_s", &Gpu::memory_bandwidth_gb_per_s,
                  sourced(core::number(gb_per_s_range)), "theoretical, 1e9 bytes/s");
  fields.required("streaming_multiprocessors", &Gpu::streaming_multiprocessors,
                  sourced(core::integer<std::int64_t>({.min = 1, .max = 65536})), "as sold");
  fields.required("boost_clock_mhz", &Gpu::boost_clock_mhz, sourced(core::number(clock_mhz_range)),
                  "as sold");
  fields.required("dense_peak_tflop_per_s", &Gpu::dense_peak_tflop_per_s,
                  some_words<core::DataType>(sourced(core::number(tflop_per_s_range))),
                  "1e12 FLOP/s by operand type, without sparsity; absent where there is none");
  fields.required("l2_cache_mib", &Gpu::l2_cache_mib, sourced(core::number(cache_mib_range)),
                  "2^20 bytes");
  fields.required("pcie", &Gpu::pcie, core::record(pcie_fields()), "PCI Express of the card");
  fields.optional("nvlink", &Gpu::nvlink, core::record(nvlink_fields()), "absent without NVLink");
  fields.required("peer_to_peer_over_pcie", &Gpu::peer_to_peer_over_pcie, sourced(core::boolean()),
                  "whether the driver lets two cards read each other");
  fields.required("board_power_w", &Gpu::board_power_w, sourced(core::number(power_w_range)),
                  "power limit as sold");
  fields.optional("default_node", &Gpu::default_node, core::text(),
                  "a node file for {\"device\": …, \"count\": …}");
}

void settle_gpu(Gpu& gpu) {
  settle(gpu.memory_gib, gpu.sources);
  settle(gpu.memory_bandwidth_gb_per_s, gpu.sources);
  settle(gpu.streaming_multiprocessors, gpu.sources);
  settle(gpu.boost_clock_mhz, gpu.sources);
  for (std::size_t i = 0; i < core::count_of<core::DataType>; ++i) {
    settle(gpu.dense_peak_tflop_per_s[static_cast<core::DataType>(i)], gpu.sources);
  }
  settle(gpu.l2_cache_mib, gpu.sources);
  settle(gpu.pcie, gpu.sources);
  settle(gpu.nvlink, gpu.sources);
  settle(gpu.peer_to_peer_over_pcie, gpu.sources);
  settle(gpu.board_power_w, gpu.sources);
}

}  // namespace

const FieldTable<Gpu>& gpu_fields() {
  static const FieldTable<Gpu> table = [] {
    FieldTable<Gpu> fields;
    fields.document("gpu");
    add_names(fields);
    add_numbers(fields);
    return fields;
  }();
  return table;
}

double Pcie::bandwidth_gb_per_s() const {
  // Rate of a lane after 8b/10b (1, 2), 128b/130b rounded as the node files have it (3, 4, 5), and
  // flits (6).
  constexpr std::array per_lane{0.25, 0.5, 0.984375, 1.96875, 3.9375, 7.5625};
  return per_lane.at(static_cast<std::size_t>(generation - 1)) * lanes;
}

int Gpu::compute_capability_number() const {
  const auto point = compute_capability.find('.');
  return std::stoi(compute_capability.substr(0, point)) * 10 +
         std::stoi(compute_capability.substr(point + 1));
}

Gpu read_gpu(const std::filesystem::path& path, core::Faults& faults) {
  const Cursor cursor(path.string(), faults);
  const std::size_t faults_before = faults.size();
  const Json document = core::read_json_file(path, cursor);
  Gpu gpu;
  if (faults.size() != faults_before) return gpu;
  gpu_fields().read(document, cursor, gpu);
  if (!document.is_object()) return gpu;
  check_sources(document, cursor, gpu.sources);
  if (!gpu.id.empty() && gpu.id != path.stem().string()) {
    cursor.at("id").fault("got " + core::shown(Json(gpu.id)) + " (must be the file's name, \"" +
                          path.stem().string() + "\")");
  }
  settle_gpu(gpu);
  return gpu;
}

Gpu read_gpu(const std::filesystem::path& path) {
  core::Faults faults;
  Gpu gpu = read_gpu(path, faults);
  faults.throw_if_any();
  return gpu;
}

DeviceCapabilities capabilities_of(const Gpu& gpu) {
  DeviceCapabilities capabilities;
  capabilities.kind = DeviceCapabilities::Kind::cuda;
  capabilities.compute_capability = gpu.compute_capability_number();
  for (std::size_t i = 0; i < core::count_of<core::DataType>; ++i) {
    const auto type = static_cast<core::DataType>(i);
    capabilities.product_types[type] = gpu.dense_peak_tflop_per_s[type].has_value();
  }
  return capabilities;
}

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '/' || c == '_') {
      if (!plain.empty() && plain.back() != '_') plain += '_';
    } else {
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return plain;
}

GpuCatalog::GpuCatalog(std::string_view profiles) {
  core::Faults faults;
  for (const ProfileEntry& entry : list_profiles("gpus", "gpu", profiles)) {
    Gpu gpu = read_gpu(entry.path, faults);
    std::set<std::string> names{plain_name(gpu.id)};
    for (const std::string& alias : gpu.aliases) names.insert(plain_name(alias));
    for (const std::string& printed : gpu.nvidia_smi_names) names.insert(plain_name(printed));
    for (const std::string& name : names) by_name_[name].push_back(gpus_.size());
    gpus_.push_back(std::move(gpu));
  }
  faults.throw_if_any();
  for (const auto& folder : folders_of("gpus", profiles)) {
    const auto path = folder / ambiguous_names_file;
    if (std::filesystem::exists(path)) add_ambiguous_names(path);
  }
}

namespace {

std::string described(const Gpu& gpu) {
  return fmt::format("{} ({:g} GiB, {}, {})", gpu.id, gpu.memory_gib.value,
                     core::spelling(gpu.form_factor), core::spelling(gpu.architecture));
}

}  // namespace

void GpuCatalog::add_ambiguous_names(const std::filesystem::path& path) {
  std::vector<std::string> ids;
  ids.reserve(gpus_.size());
  for (const Gpu& gpu : gpus_) ids.push_back(gpu.id);
  for (const auto& [name, candidates] : read_ambiguous_names(path, ids).names) {
    std::vector<std::size_t> indices;
    indices.reserve(candidates.size());
    for (const std::string& id : candidates) {
      indices.push_back(
          static_cast<std::size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin()));
    }
    by_name_.emplace(plain_name(name), std::move(indices));  // a card's own name stays its own
  }
}

std::string GpuCatalog::several(std::string_view name, const std::vector<std::size_t>& ids) const {
  const auto differ = [&](auto&& value) {
    return std::any_of(ids.begin(), ids.end(),
                       [&](std::size_t i) { return value(gpus_[i]) != value(gpus_[ids[0]]); });
  };
  std::vector<std::string> what;
  if (differ([](const Gpu& gpu) { return gpu.memory_gib.value; })) what.emplace_back("memory");
  if (differ([](const Gpu& gpu) { return gpu.form_factor; })) what.emplace_back("form factor");
  if (differ([](const Gpu& gpu) { return gpu.architecture; })) what.emplace_back("architecture");
  std::string candidates;
  for (const std::size_t i : ids) {
    candidates += (candidates.empty() ? "" : ", ") + described(gpus_[i]);
  }
  return fmt::format("the name \"{}\" fits several cards: {}{}{} (name one of them)", name,
                     candidates, what.empty() ? "" : "; they differ in ", fmt::join(what, ", "));
}

GpuCatalog::Match GpuCatalog::find(std::string_view name) const {
  const auto found = by_name_.find(plain_name(name));
  if (found != by_name_.end() && found->second.size() == 1) {
    return {&gpus_[found->second.front()], {}, {}};
  }
  if (found != by_name_.end()) {
    Match match{nullptr, several(name, found->second), {}};
    for (const std::size_t i : found->second) match.candidates.push_back(&gpus_[i]);
    return match;
  }
  std::vector<std::string> names;
  names.reserve(by_name_.size());
  for (const auto& [known, ids] : by_name_) names.push_back(known);
  const std::string near = core::nearest(plain_name(name), names);
  return {nullptr,
          "no GPU is called \"" + std::string(name) + "\"" +
              (near.empty() ? "" : "; did you mean \"" + near + "\"?") +
              " (`paceline list gpus` prints all)",
          {}};
}

Gpu find_gpu(std::string_view name, std::string_view profiles) {
  const GpuCatalog catalog(profiles);
  const auto match = catalog.find(name);
  if (match.gpu == nullptr) throw core::ConfigError("", "", match.problem);
  return *match.gpu;
}

std::vector<ProfileEntry> list_gpus(std::string_view profiles) {
  return list_profiles("gpus", "gpu", profiles);
}

std::string gpu_schema() { return core::to_text(gpu_fields().schema()); }

}  // namespace paceline::hardware_profiles
