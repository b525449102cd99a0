#include "cli/zoo_file.hpp"

#include <set>
#include <vector>

#include "core/fields.hpp"
#include "models/architecture_fields.hpp"

namespace paceline::cli {
namespace {

using core::Cursor;
using core::FieldTable;
using core::Json;
using models::VitArchitecture;

struct Entry {
  std::string id;
  std::vector<std::string> aliases;
  VitArchitecture architecture;
};

struct ZooFile {
  std::string source;
  std::vector<Entry> architectures;
};

/// `id` and `aliases` beside the keys of an architecture.
const FieldTable<Entry>& name_fields() {
  static const FieldTable<Entry> table = [] {
    FieldTable<Entry> fields;
    fields.required("id", &Entry::id, core::text(), "timm's name");
    fields.defaulted("aliases", &Entry::aliases, core::list(core::text()), "other names");
    return fields;
  }();
  return table;
}

core::ValueType<Entry> entry_value() {
  core::ValueType<Entry> type;
  type.read = [](const Json& json, const Cursor& cursor, Entry& entry) {
    if (!core::detail::expect(json.is_object(), json, cursor, "an object")) return;
    Json names = Json::object();
    Json rest = json;
    for (const char* key : {"id", "aliases"}) {
      if (!json.contains(key)) continue;
      names[key] = json[key];
      rest.erase(key);
    }
    const std::size_t faults_before = cursor.faults().size();
    name_fields().read(names, cursor, entry);
    models::architecture_fields().read(rest, cursor, entry.architecture);
    if (cursor.faults().size() == faults_before) {
      models::check_architecture(entry.architecture, cursor);
    }
  };
  type.write = [](const Entry& entry) {
    Json json = name_fields().write(entry);
    json.update(models::architecture_fields().write(entry.architecture));
    return json;
  };
  type.schema = [] {
    Json schema = name_fields().schema();
    schema["properties"].update(models::architecture_fields().schema()["properties"]);
    return schema;
  };
  return type;
}

void find_names_given_twice(const ZooFile& file, const Cursor& cursor) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < file.architectures.size(); ++i) {
    std::vector<std::string> own = file.architectures[i].aliases;
    own.push_back(file.architectures[i].id);
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

void check_zoo_file(const std::filesystem::path& path) {
  static_cast<void>(core::from_file(path, zoo_fields()));
}

std::string zoo_schema() { return core::to_text(zoo_fields().schema()); }

}  // namespace paceline::cli
