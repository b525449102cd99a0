#include "cli/overrides.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"

namespace paceline::cli {
namespace {

using core::Json;

struct Override {
  std::string typed;  // path=value
  std::string path;
  std::vector<std::string> segments;
  Json value;
  std::string pointer;  // "/training/micro_batch"
};

[[noreturn]] void refuse(const std::string& typed, const std::string& problem) {
  throw core::UsageError("--set " + typed + ": " + problem);
}

std::vector<std::string> split(std::string_view path) {
  const char separator = path.find('/') == std::string_view::npos ? '.' : '/';
  if (path.starts_with('/')) path.remove_prefix(1);
  std::vector<std::string> segments;
  while (true) {
    const std::size_t end = path.find(separator);
    segments.emplace_back(path.substr(0, end));
    if (end == std::string_view::npos) return segments;
    path.remove_prefix(end + 1);
  }
}

Json value_of(const std::string& text) {
  core::Faults faults;
  const Json value = core::parse_json(text, core::Cursor("", faults));
  return faults.empty() ? value : Json(text);
}

Override parse(const std::string& typed) {
  const std::size_t equals = typed.find('=');
  if (equals == std::string::npos) refuse(typed, "has no value (write path=value)");
  Override parsed;
  parsed.typed = typed;
  parsed.path = typed.substr(0, equals);
  parsed.segments = split(parsed.path);
  const bool has_gap = std::any_of(parsed.segments.begin(), parsed.segments.end(),
                                   [](const std::string& one) { return one.empty(); });
  if (has_gap) refuse(typed, "has an empty key (write path=value, as training.micro_batch=8)");
  parsed.value = value_of(typed.substr(equals + 1));
  core::Faults none;
  core::Cursor cursor("", none);
  for (const std::string& segment : parsed.segments) cursor = cursor.at(segment);
  parsed.pointer = cursor.pointer();
  return parsed;
}

std::optional<std::size_t> index_of(const std::string& segment) {
  std::size_t index = 0;
  const char* end = segment.data() + segment.size();
  const auto [last, error] = std::from_chars(segment.data(), end, index);
  return error == std::errc() && last == end ? std::optional(index) : std::nullopt;
}

/// The schema of a key below `schema`, or null.
const Json* below(const Json& schema, const std::string& segment) {
  if (const auto choices = schema.find("anyOf"); choices != schema.end()) {
    for (const Json& choice : *choices) {
      if (const Json* found = below(choice, segment)) return found;
    }
  }
  if (const auto properties = schema.find("properties"); properties != schema.end()) {
    if (const auto found = properties->find(segment); found != properties->end()) return &*found;
  }
  const auto items = schema.find("items");
  return items != schema.end() && index_of(segment) ? &*items : nullptr;
}

bool is_in_schema(const Json& schema, const std::vector<std::string>& segments) {
  const Json* at = &schema;
  for (const std::string& segment : segments) {
    at = below(*at, segment);
    if (at == nullptr) return false;
  }
  return true;
}

/// Dotted paths of all keys of `schema`.
void collect_paths(const Json& schema, const std::string& prefix, std::vector<std::string>& paths) {
  if (const auto choices = schema.find("anyOf"); choices != schema.end()) {
    for (const Json& choice : *choices) collect_paths(choice, prefix, paths);
  }
  const auto properties = schema.find("properties");
  if (properties == schema.end()) return;
  for (const auto& [key, value] : properties->items()) {
    std::string path = prefix;
    path.append(prefix.empty() ? "" : ".").append(key);
    paths.push_back(path);
    collect_paths(value, path, paths);
  }
}

/// The path that ends in the same key, or the one nearest in spelling, or nothing.
std::string nearest_path(const Json& schema, const Override& wanted) {
  std::vector<std::string> paths;
  collect_paths(schema, "", paths);
  for (const std::string& path : paths) {
    if (split(path).back() == wanted.segments.back()) return path;
  }
  std::string dotted;
  for (const std::string& segment : wanted.segments) {
    dotted += (dotted.empty() ? "" : ".") + segment;
  }
  return core::nearest(dotted, paths);
}

/// The place that `segment` names inside `parent`, made if it is not there.
Json& step_into(Json& parent, const std::string& segment, const Override& wanted) {
  if (parent.is_string() && wanted.segments.front() == "model") {
    parent = Json{{"base", parent.get<std::string>()}};
  }
  if (parent.is_null()) parent = Json::object();
  if (parent.is_object()) return parent[segment];
  if (!parent.is_array()) {
    refuse(wanted.typed, "nothing can stand at \"" + segment + "\", for above it the file has " +
                             core::shown(parent) + " (set the place above it to an object)");
  }
  const auto index = index_of(segment);
  if (!index || *index >= parent.size()) {
    refuse(wanted.typed, "got place \"" + segment + "\" in a list of " +
                             std::to_string(parent.size()) + " (must be 0 to " +
                             std::to_string(parent.size() - 1) + ")");
  }
  return parent[*index];
}

/// Foreign spellings are left to the reader, which knows what they are called here.
void apply(const Override& wanted, const Json& schema, Json& experiment) {
  if (!is_in_schema(schema, wanted.segments)) {
    const std::string near = nearest_path(schema, wanted);
    if (!near.empty()) refuse(wanted.typed, "unknown path, did you mean " + near + "?");
  }
  Json* place = &experiment;
  for (const std::string& segment : wanted.segments) place = &step_into(*place, segment, wanted);
  *place = wanted.value;
}

bool is_at_or_below(const std::string& pointer, const std::string& place) {
  return pointer.starts_with(place) &&
         (pointer.size() == place.size() || pointer[place.size()] == '/');
}

}  // namespace

models::Experiment read_experiment_with(const std::filesystem::path& path,
                                        const std::vector<std::string>& overrides) {
  std::vector<Override> parsed;
  parsed.reserve(overrides.size());
  for (const std::string& typed : overrides) parsed.push_back(parse(typed));
  core::Faults faults;
  Json experiment = core::read_json_file(path, core::Cursor(path.string(), faults));
  faults.throw_if_any();
  core::Faults none;
  const Json schema = core::parse_json(models::experiment_schema(), core::Cursor("", none));
  for (const Override& wanted : parsed) apply(wanted, schema, experiment);
  try {
    return models::read_experiment_text(core::to_text(experiment), path.string());
  } catch (const core::ConfigError& error) {
    std::vector<core::Fault> located = error.faults();
    for (core::Fault& fault : located) {
      for (const Override& wanted : parsed) {
        if (!is_at_or_below(fault.pointer, wanted.pointer)) continue;
        fault.problem += " [from --set " + wanted.typed + "]";
        break;
      }
    }
    throw core::ConfigError(std::move(located));
  }
}

}  // namespace paceline::cli
