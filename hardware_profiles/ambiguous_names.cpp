#include "hardware_profiles/ambiguous_names.hpp"

#include <algorithm>

#include "core/fields.hpp"

namespace paceline::hardware_profiles {
namespace {

const core::FieldTable<AmbiguousNames>& ambiguous_names_fields() {
  static const core::FieldTable<AmbiguousNames> table = [] {
    core::FieldTable<AmbiguousNames> fields;
    fields.document("ambiguous_names");
    fields.required("names", &AmbiguousNames::names, core::dictionary(core::list(core::text(), 2)),
                    "ids that each name may mean");
    return fields;
  }();
  return table;
}

}  // namespace

AmbiguousNames read_ambiguous_names(const std::filesystem::path& path,
                                    const std::vector<std::string>& gpu_ids) {
  AmbiguousNames file = core::from_file(path, ambiguous_names_fields());
  core::Faults faults;
  const core::Cursor names = core::Cursor(path.string(), faults).at("names");
  for (const auto& [name, ids] : file.names) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (std::find(gpu_ids.begin(), gpu_ids.end(), ids[i]) != gpu_ids.end()) continue;
      const std::string near = core::nearest(ids[i], gpu_ids);
      names.at(name).at(i).fault("got " + core::shown(core::Json(ids[i])) +
                                 ", which is the id of no gpu file" +
                                 (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
    }
  }
  faults.throw_if_any();
  return file;
}

std::string ambiguous_names_schema() { return core::to_text(ambiguous_names_fields().schema()); }

}  // namespace paceline::hardware_profiles
