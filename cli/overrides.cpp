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

std::vector<std::string> separated(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
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
  const bool in_framework = wanted.segments.front() == "framework" && wanted.segments.size() > 1 &&
                            segment == wanted.segments.back();
  if (in_framework && parent.is_string()) parent = Json{{"name", parent}};
  if (in_framework && parent.is_null()) parent = Json{{"name", "pytorch_ddp"}};
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

/// "rtx3090,gtx1080ti" or "a100_sxm4_80gb:8": a card's name, and how many of it.
std::vector<std::string> devices_of(const std::string& gpus) {
  constexpr int most = 1 << 20;
  std::vector<std::string> devices;
  for (const std::string& one : separated(gpus, ',')) {
    const std::vector<std::string> parts = separated(one, ':');
    const auto count = parts.size() == 2 ? index_of(parts[1]) : std::optional<std::size_t>(1);
    if (parts[0].empty() || parts.size() > 2 || !count || *count < 1 || *count > most) {
      throw core::UsageError(std::string("--gpus ").append(gpus).append(": \"").append(one).append(
          "\" is no card (write a name, or name:count, separated by commas, as "
          "rtx3090,gtx1080ti or a100_sxm4_80gb:8)"));
    }
    devices.insert(devices.end(), *count, parts[0]);
  }
  return devices;
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

namespace {

/// Changes `experiment` as each override says and reads it; `label` names it in messages.
models::Experiment read_changed(Json experiment, const std::string& label,
                                const std::vector<std::string>& overrides) {
  std::vector<Override> parsed;
  parsed.reserve(overrides.size());
  for (const std::string& typed : overrides) parsed.push_back(parse(typed));
  core::Faults none;
  const Json schema = core::parse_json(models::experiment_schema(), core::Cursor("", none));
  for (const Override& wanted : parsed) apply(wanted, schema, experiment);
  try {
    return models::read_experiment_text(core::to_text(experiment), label);
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

}  // namespace

models::Experiment read_experiment_with(const std::filesystem::path& path,
                                        const std::vector<std::string>& overrides) {
  if (overrides.empty()) return models::read_experiment(path);
  core::Faults faults;
  Json experiment = core::read_json_file(path, core::Cursor(path.string(), faults));
  faults.throw_if_any();
  return read_changed(std::move(experiment), path.string(), overrides);
}

models::Experiment read_inline_experiment(const InlineExperiment& given,
                                          const std::vector<std::string>& overrides) {
  Json training = Json::object();
  const auto number_or_list = [](const std::string& text) {
    Json list = Json::array();
    for (const std::string& one : separated(text, ',')) list.push_back(value_of(one));
    return list.size() == 1 ? list[0] : list;
  };
  if (given.micro_batch) training["micro_batch"] = number_or_list(*given.micro_batch);
  if (given.accumulation_steps)
    training["accumulation_steps"] = value_of(*given.accumulation_steps);
  if (given.precision) training["precision"] = *given.precision;
  if (given.optimizer) training["optimizer"] = *given.optimizer;
  if (given.checkpointing) training["activation_checkpointing"] = *given.checkpointing;
  if (given.data) training["dataset"] = {{"name", *given.data}};
  if (given.epochs) training["epochs"] = value_of(*given.epochs);
  Json experiment{{"schema", "paceline/experiment/1"},
                  {"model", given.model},
                  {"cluster", {{"devices", devices_of(given.gpus)}}},
                  {"training", training}};
  if (given.framework) {
    const std::vector<std::string> parts = separated(*given.framework, '@');
    experiment["framework"] = parts.front();
    if (parts.size() > 1) experiment["framework"] = {{"name", parts[0]}, {"version", parts[1]}};
  }
  return read_changed(std::move(experiment), "command line", overrides);
}

}  // namespace paceline::cli
