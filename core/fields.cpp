#include "core/fields.hpp"

#include <algorithm>
#include <cmath>

namespace paceline::core {
namespace detail {
namespace {

std::string number_text(double value) { return Json(value).dump(); }

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void fault_above(const Json& json, const Cursor& cursor, const std::string& max,
                 std::string_view limit) {
  cursor.fault("got " + shown(json) + " (must be <= " + max + (limit.empty() ? "" : ": ") +
               std::string(limit) + ")");
}

}  // namespace

std::optional<double> read_number(const Json& json, const Cursor& cursor,
                                  const NumberRange& range) {
  if (!expect(json.is_number(), json, cursor, "a number")) return std::nullopt;
  const double value = json.get<double>();
  if (value < range.min || (range.min_excluded && value == range.min)) {
    cursor.fault("got " + shown(json) + " (must be " + (range.min_excluded ? "> " : ">= ") +
                 number_text(range.min) + ")");
    return std::nullopt;
  }
  if (value > range.max) {
    fault_above(json, cursor, number_text(range.max), range.limit);
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> read_integer(const Json& json, const Cursor& cursor,
                                         const IntegerRange& range) {
  // Beyond 64 bits the parser makes a whole number unsigned or a double.
  constexpr auto largest = static_cast<std::uint64_t>(INT64_MAX);
  const double real = json.is_number_float() ? json.get<double>() : 0.0;
  const bool above =
      real >= 0x1p63 || (json.is_number_unsigned() && json.get<std::uint64_t>() > largest);
  const bool below = real < -0x1p63;
  const bool whole =
      json.is_number_integer() || (json.is_number_float() && real == std::trunc(real));
  if (!expect(whole, json, cursor, "a whole number")) return std::nullopt;
  if (below || (!above && json.get<std::int64_t>() < range.min)) {
    cursor.fault("got " + shown(json) + " (must be >= " + std::to_string(range.min) + ")");
    return std::nullopt;
  }
  if (above || json.get<std::int64_t>() > range.max) {
    fault_above(json, cursor, std::to_string(range.max), range.limit);
    return std::nullopt;
  }
  return json.get<std::int64_t>();
}

std::optional<std::size_t> read_word(const Json& json, const Cursor& cursor,
                                     const std::vector<std::string>& words) {
  if (!expect(json.is_string(), json, cursor, "one of " + joined(words))) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), json.get<std::string>());
  if (found == words.end()) {
    const std::string near = nearest(json.get<std::string>(), words);
    cursor.fault("got " + shown(json) + (near.empty() ? "" : ", did you mean \"" + near + "\"?") +
                 " (must be one of " + joined(words) + ")");
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - words.begin());
}

bool expect(bool holds, const Json& json, const Cursor& cursor, std::string_view allowed) {
  if (!holds) cursor.fault("got " + shown(json) + " (must be " + std::string(allowed) + ")");
  return holds;
}

void unknown_key(const std::string& key, const Json& value, const Cursor& cursor,
                 const std::vector<std::string>& known,
                 const std::map<std::string, std::function<std::string(const Json&)>>& foreign) {
  if (const auto found = foreign.find(key); found != foreign.end()) {
    cursor.at(key).fault("unknown key; " + found->second(value));
    return;
  }
  const std::string near = nearest(key, known);
  cursor.at(key).fault("unknown key" + (near.empty() ? " (allowed: " + joined(known) + ")"
                                                     : ", did you mean \"" + near + "\"?"));
}

void missing_key(const std::string& key, const Cursor& cursor) {
  cursor.fault("the key \"" + key + "\" is missing (it is required)");
}

void fault_if_wrong_schema(const Json& json, const Cursor& cursor, std::string_view kind) {
  const auto found = json.find("schema");
  if (found == json.end()) {
    cursor.fault("the key \"schema\" is missing (must be \"" + schema_id(kind) + "\")");
  } else if (*found != schema_id(kind)) {
    cursor.at("schema").fault("got " + shown(*found) + " (must be \"" + schema_id(kind) + "\")");
  }
}

std::string schema_id(std::string_view kind) { return "paceline/" + std::string(kind) + "/1"; }

}  // namespace detail

ValueType<double> number(NumberRange range) {
  return {[range](const Json& json, const Cursor& cursor, double& value) {
            if (auto read = detail::read_number(json, cursor, range)) {
              value = *read;
            }
          },
          [](const double& value) { return Json(value); },
          [range] {
            Json schema{{"type", "number"}};
            if (range.min != any_number.min) {
              schema[range.min_excluded ? "exclusiveMinimum" : "minimum"] = range.min;
            }
            if (range.max != any_number.max) schema["maximum"] = range.max;
            return schema;
          }};
}

ValueType<std::string> text() {
  return {[](const Json& json, const Cursor& cursor, std::string& value) {
            if (detail::expect(json.is_string(), json, cursor, "a text in quotes")) {
              value = json.get<std::string>();
            }
          },
          [](const std::string& value) { return Json(value); },
          [] { return Json{{"type", "string"}}; }};
}

ValueType<bool> boolean() {
  return {[](const Json& json, const Cursor& cursor, bool& value) {
            if (detail::expect(json.is_boolean(), json, cursor, "true or false")) {
              value = json.get<bool>();
            }
          },
          [](const bool& value) { return Json(value); }, [] { return Json{{"type", "boolean"}}; }};
}

namespace {

template <class Q>
ValueType<Q> whole_quantity() {
  return {[](const Json& json, const Cursor& cursor, Q& value) {
            if (auto read = detail::read_integer(json, cursor, {})) value = Q(*read);
          },
          [](const Q& value) { return Json(value.value()); },
          [] { return Json{{"type", "integer"}, {"minimum", 0}, {"maximum", INT64_MAX}}; }};
}

}  // namespace

ValueType<Bytes> bytes_value() { return whole_quantity<Bytes>(); }
ValueType<Flops> flops_value() { return whole_quantity<Flops>(); }

ValueType<Json> anything() {
  return {[](const Json& json, const Cursor& /*cursor*/, Json& value) { value = json; },
          [](const Json& value) { return value; }, [] { return Json::object(); }};
}

}  // namespace paceline::core
