#include "hardware_profiles/sourced_fields.hpp"

#include <vector>

namespace paceline::hardware_profiles {

core::ValueType<Sources> sources_value() {
  static const core::FieldTable<Source> table = [] {
    core::FieldTable<Source> fields;
    fields.required("title", &Source::title, core::text(), "document, or how it was found");
    fields.required("certainty", &Source::certainty, core::word<Certainty>(),
                    "how far its numbers can be trusted");
    return fields;
  }();
  return core::dictionary(core::record(table));
}

void check_sources(const core::Json& document, const core::Cursor& cursor, const Sources& sources) {
  if (document.is_array()) {
    for (std::size_t i = 0; i < document.size(); ++i) {
      check_sources(document[i], cursor.at(i), sources);
    }
  }
  if (!document.is_object()) return;
  for (const auto& [key, value] : document.items()) {
    if (key == "sources" || key == "provenance") continue;
    if (key != "source" || !value.is_string()) {
      check_sources(value, cursor.at(key), sources);
      continue;
    }
    if (sources.contains(value.get<std::string>())) continue;
    std::vector<std::string> declared;
    for (const auto& [id, source] : sources) declared.push_back(id);
    const std::string near = core::nearest(value.get<std::string>(), declared);
    cursor.at(key).fault("got " + core::shown(value) + ", which is not declared in `sources`" +
                         (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
  }
}

Certainty certainty_of(const std::string& source, const Sources& sources) {
  const auto found = sources.find(source);
  return found == sources.end() ? Certainty::assumed : found->second.certainty;
}

}  // namespace paceline::hardware_profiles
