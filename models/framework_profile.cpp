#include "models/framework_profile.hpp"

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/share_directory.hpp"

namespace paceline::models {
namespace {

const core::FieldTable<HostIssueTimes>& host_fields() {
  static const core::FieldTable<HostIssueTimes> table = [] {
    core::FieldTable<HostIssueTimes> fields;
    const auto us = core::number(core::positive);
    fields.required("forward_operator", &HostIssueTimes::forward_operator, us,
                    "to issue an operator of the forward pass");
    fields.required("backward_operator", &HostIssueTimes::backward_operator, us,
                    "to issue an operator of the backward pass");
    fields.required("optimizer_operator", &HostIssueTimes::optimizer_operator, us,
                    "to issue an operator of the optimizer");
    fields.required("optimizer_tensor", &HostIssueTimes::optimizer_tensor, us,
                    "the optimizer's own work for each parameter tensor");
    return fields;
  }();
  return table;
}

const core::FieldTable<FrameworkProfile>& framework_fields() {
  static const core::FieldTable<FrameworkProfile> table = [] {
    using F = FrameworkProfile;
    core::FieldTable<F> fields;
    constexpr std::int64_t most_mib = 1 << 20;
    const auto mib = core::integer<std::int64_t>({.min = 1, .max = most_mib});
    fields.document("framework");
    fields.required("name", &F::name, core::word<core::FrameworkKind>(), "software stack");
    fields.required("version", &F::version, core::text(), "of PyTorch");
    fields.required("fused_attention", &F::fused_attention, core::boolean(),
                    "attention is one kernel by default");
    fields.required("optimizer_kernels", &F::optimizer_kernels, core::word<OptimizerKernels>(),
                    "how the optimizer's work is cut into kernels by default");
    fields.required("first_bucket_mib", &F::first_bucket_mib, mib,
                    "size of the first bucket where the user sets none");
    fields.required("bucket_mib", &F::bucket_mib, mib, "size of the others");
    fields.required("allocation_granularity_bytes", &F::allocation_granularity_bytes,
                    core::integer<std::int64_t>({.min = 1, .max = 1 << 30}),
                    "allocations are rounded up to a multiple of it");
    fields.required("host_us", &F::host_us, core::record(host_fields()),
                    "what the host takes, in microseconds");
    fields.required("sources", &F::sources, core::dictionary(core::text()),
                    "where each value comes from");
    return fields;
  }();
  return table;
}

/// "2.11" after "1.12".
std::vector<int> parts_of(const std::string& version) {
  std::vector<int> parts{0};
  for (const char c : version) {
    if (c == '.') {
      parts.push_back(0);
    } else if (c >= '0' && c <= '9') {
      constexpr int base = 10;
      parts.back() = parts.back() * base + (c - '0');
    }
  }
  return parts;
}

std::vector<FrameworkProfile> read_all() {
  std::vector<FrameworkProfile> profiles;
  std::vector<core::Fault> faults;
  const std::filesystem::path folder = core::share_directory() / "models/frameworks";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    try {
      profiles.push_back(read_framework(entry.path()));
    } catch (const core::ConfigError& error) {
      faults.insert(faults.end(), error.faults().begin(), error.faults().end());
    }
  }
  if (!faults.empty()) throw core::ConfigError(std::move(faults));
  std::sort(profiles.begin(), profiles.end(),
            [](const auto& a, const auto& b) { return parts_of(b.version) < parts_of(a.version); });
  return profiles;
}

}  // namespace

FrameworkProfile read_framework(const std::filesystem::path& path) {
  return core::from_file(path, framework_fields());
}

const std::vector<FrameworkProfile>& framework_profiles() {
  static const std::vector<FrameworkProfile> profiles = read_all();
  return profiles;
}

const std::vector<std::string>& framework_versions() {
  static const std::vector<std::string> versions = [] {
    std::vector<std::string> list;
    for (const FrameworkProfile& profile : framework_profiles()) list.push_back(profile.version);
    return list;
  }();
  return versions;
}

const FrameworkProfile& framework_profile(const std::optional<std::string>& version) {
  for (const FrameworkProfile& profile : framework_profiles()) {
    if (!version || profile.version == *version) return profile;
  }
  throw core::InvariantError("no framework file of version " + version.value_or("(any)"));
}

std::string framework_schema() { return core::to_text(framework_fields().schema()); }

}  // namespace paceline::models
