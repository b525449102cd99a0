#include "models/zoo_file.hpp"

#include <set>

#include "core/fields.hpp"
#include "models/architecture_fields.hpp"

namespace paceline::models {
namespace {

using core::Cursor;
using core::FieldTable;
using core::Json;

/// `id` and `aliases`, beside the keys of an architecture.
const FieldTable<ZooEntry>& name_fields() {
  static const FieldTable<ZooEntry> table = [] {
    FieldTable<ZooEntry> fields;
    core::ValueType<ZooEntry> id;
    id.read = [](const Json& json, const Cursor& cursor, ZooEntry& entry) {
      core::text().read(json, cursor, entry.architecture.id);
    };
    id.write = [](const ZooEntry& entry) { return Json(entry.architecture.id); };
    id.schema = core::text().schema;
    fields.whole("id", id, "timm's name");
    fields.defaulted("aliases", &ZooEntry::aliases, core::list(core::text()), "other names");
    return fields;
  }();
  return table;
}

core::ValueType<ZooEntry> entry_value() {
  core::ValueType<ZooEntry> type;
  type.read = [](const Json& json, const Cursor& cursor, ZooEntry& entry) {
    if (!core::detail::expect(json.is_object(), json, cursor, "an object")) return;
    const std::size_t faults_before = cursor.faults().size();
    Json names = Json::object();
    for (const char* key : {"id", "aliases"}) {
      if (json.contains(key)) names[key] = json[key];
    }
    name_fields().read(names, cursor, entry);
    architecture_fields().read(json, cursor, entry.architecture, {"id", "aliases"});
    if (cursor.faults().size() == faults_before) check_architecture(entry.architecture, cursor);
  };
  type.write = [](const ZooEntry& entry) {
    Json json = name_fields().write(entry);
    json.update(architecture_fields().write(entry.architecture));
    return json;
  };
  type.schema = [] {
    Json schema = name_fields().schema();
    schema["properties"].update(architecture_fields().schema()["properties"]);
    return schema;
  };
  return type;
}

void find_names_given_twice(const ZooFile& file, const Cursor& cursor) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < file.architectures.size(); ++i) {
    std::vector<std::string> own = file.architectures[i].aliases;
    own.push_back(file.architectures[i].architecture.id);
    for (const std::string& name : own) {
      if (names.insert(name).second) continue;
      cursor.at("architectures")
          .at(i)
          .fault("the name \"" + name + "\" is given twice (each may stand once)");
    }
  }
}

const FieldTable<ZooFile>& zoo_fields() {
  static const FieldTable<ZooFile> table = [] {
    FieldTable<ZooFile> fields;
    fields.document("zoo");
    fields.required("source", &ZooFile::source, core::text(), "where the architectures come from");
    fields.required("architectures", &ZooFile::architectures, core::list(entry_value(), 1),
                    "one entry each");
    fields.check(find_names_given_twice);
    return fields;
  }();
  return table;
}

}  // namespace

ZooFile read_zoo_file(const std::filesystem::path& path) {
  ZooFile file = core::from_file(path, zoo_fields());
  for (ZooEntry& entry : file.architectures) entry.source = file.source;
  return file;
}

std::string zoo_schema() { return core::to_text(zoo_fields().schema()); }

}  // namespace paceline::models
