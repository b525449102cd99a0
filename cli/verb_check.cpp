#include <functional>
#include <utility>

#include "cli/verb.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/measurements.hpp"
#include "core/report.hpp"
#include "core/trace.hpp"
#include "hardware_profiles/ambiguous_names.hpp"
#include "hardware_profiles/cluster.hpp"
#include "hardware_profiles/gpu.hpp"
#include "hardware_profiles/node.hpp"
#include "models/experiment.hpp"
#include "models/framework_profile.hpp"
#include "models/zoo_file.hpp"
#include "validate/compare.hpp"

namespace paceline::cli {
namespace {

/// A kind of file: how it is read (throws `core::ConfigError`) and its JSON Schema.
struct FileKind {
  std::string name;
  std::function<void(const std::string& path, const std::string& profiles)> read;
  std::function<std::string()> schema;
};

void read_cluster(const std::string& path, const std::string& profiles) {
  core::Faults faults;
  const core::Json json = core::read_json_file(path, core::Cursor(path, faults));
  faults.throw_if_any();
  static_cast<void>(hardware_profiles::read_cluster_text(core::to_text(json), path, profiles));
}

void read_report(const std::string& path, const std::string& /*profiles*/) {
  core::Faults faults;
  for (const std::string& fault : validate::faults_of(core::read_report(path))) {
    faults.add({path, "", fault});
  }
  faults.throw_if_any();
}

void read_ambiguous_names(const std::string& path, const std::string& profiles) {
  std::vector<std::string> ids;
  for (const auto& gpu : hardware_profiles::list_gpus(profiles)) ids.push_back(gpu.id);
  static_cast<void>(hardware_profiles::read_ambiguous_names(path, ids));
}

const std::vector<FileKind>& kinds() {
  using Path = const std::string&;
  static const std::vector<FileKind> all{
      {"experiment", [](Path path, Path) { static_cast<void>(models::read_experiment(path)); },
       models::experiment_schema},
      {"cluster", read_cluster, hardware_profiles::cluster_schema},
      {"node", [](Path path, Path) { static_cast<void>(hardware_profiles::read_node(path)); },
       hardware_profiles::node_schema},
      {"gpu", [](Path path, Path) { static_cast<void>(hardware_profiles::read_gpu(path)); },
       hardware_profiles::gpu_schema},
      {"ambiguous_names", read_ambiguous_names, hardware_profiles::ambiguous_names_schema},
      {"framework", [](Path path, Path) { static_cast<void>(models::read_framework(path)); },
       models::framework_schema},
      {"zoo", [](Path path, Path) { static_cast<void>(models::read_zoo_file(path)); },
       models::zoo_schema},
      {"report", read_report, core::report_schema},
      {"measurements", [](Path path, Path) { static_cast<void>(core::read_measurements(path)); },
       core::measurements_schema},
      {"trace", [](Path path, Path) { static_cast<void>(core::read_trace(path)); },
       core::trace_schema}};
  return all;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const FileKind& kind : kinds()) names.push_back(kind.name);
  return names;
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

const FileKind* find_kind(const std::string& name) {
  for (const FileKind& kind : kinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

/// The kind that `"schema": "paceline/<kind>/1"` names, or trace. Throws `core::ConfigError`.
const FileKind& kind_of(const std::string& path) {
  core::Faults faults;
  const core::Cursor cursor(path, faults);
  const core::Json json = core::read_json_file(path, cursor);
  faults.throw_if_any();
  const std::string allowed =
      "must be \"paceline/KIND/1\" with KIND one of " + listed(kind_names());
  if (!json.is_object()) {
    throw core::ConfigError(path, "", "got " + core::shown(json) + " (must be an object)");
  }
  const auto schema = json.find("schema");
  if (schema == json.end()) {
    // A trace has the keys of PyTorch's profiler.
    if (json.contains("traceEvents")) return *find_kind("trace");
    throw core::ConfigError(path, "", "the key \"schema\" is missing (" + allowed + ")");
  }
  const std::string text = schema->is_string() ? schema->get<std::string>() : "";
  const std::size_t start = text.find('/') + 1;
  const std::string name = text.substr(start, text.rfind('/') - start);
  if (const FileKind* kind = find_kind(name)) return *kind;
  const std::string near = core::nearest(name, kind_names());
  throw core::ConfigError(path, "/schema",
                          "got " + core::shown(*schema) +
                              (near.empty() ? "" : ", did you mean \"paceline/" + near + "/1\"?") +
                              " (" + allowed + ")");
}

int print_schema(const std::string& name, const Console& console) {
  if (const FileKind* kind = find_kind(name)) {
    core::Faults none;
    core::Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
    schema.update(core::parse_json(kind->schema(), core::Cursor(name, none)));
    console.write(core::to_text(schema));
    return 0;
  }
  const std::string near = core::nearest(name, kind_names());
  throw core::UsageError("paceline check: --schema " + name + ": unknown kind" +
                         (near.empty() ? "" : ", did you mean " + near + "?") +
                         " (must be one of " + listed(kind_names()) + ")");
}

int check(const Arguments& arguments, const Console& console) {
  if (const auto kind = arguments.value("schema")) {
    if (!arguments.positional.empty()) {
      throw core::UsageError("paceline check: --schema takes no file (give one or the other)");
    }
    return print_schema(*kind, console);
  }
  if (arguments.positional.empty()) {
    throw core::UsageError("paceline check: needs FILE… (`paceline help check` shows all)");
  }
  const std::string profiles = arguments.value("profiles").value_or("");
  std::vector<core::Fault> faults;
  for (const std::string& path : arguments.positional) {
    try {
      const FileKind& kind = kind_of(path);
      kind.read(path, profiles);
      console.print("ok  " + path + "  " + kind.name + "\n");
    } catch (const core::ConfigError& error) {
      faults.insert(faults.end(), error.faults().begin(), error.faults().end());
    }
  }
  console.out.flush();  // before the faults, where both streams are one
  if (!faults.empty()) throw core::ConfigError(std::move(faults));
  return 0;
}

}  // namespace

Verb check_verb() {
  return {.name = "check",
          .summary = "read files and list every fault; print JSON Schemas",
          .operands = "FILE…",
          .arity = {},
          .about = "Reads each file as the kind that its \"schema\" names (" +
                   listed(kind_names()) +
                   "), prints one line for each that is right, and every fault of the others with "
                   "file, place, what was read and what is allowed. Reports must also add up: "
                   "phases to the step, ranks to the world.",
          .examples = {"paceline check experiment.json predicted.json",
                       "paceline check --schema experiment"},
          .options = {{"schema", "KIND", "print the JSON Schema of a kind of file instead"},
                      {"profiles", "DIR", "look for what clusters refer to there first"}},
          .run = check};
}

}  // namespace paceline::cli
