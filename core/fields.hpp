#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "core/quantity.hpp"
#include "core/vocabulary.hpp"

/// One table of fields for each kind of object in a file. The table reads the object (collecting
/// every fault with its place), writes it, and prints its JSON Schema, so the three cannot differ.
namespace paceline::core {

/// How a value of type T stands in JSON.
template <class T>
struct ValueType {
  /// Reads into `value`; on a fault records it at the cursor and leaves `value` unspecified.
  std::function<void(const Json&, const Cursor&, T&)> read;
  std::function<Json(const T&)> write;
  std::function<Json()> schema;
};

/// `limit`: why nothing is larger, for the message; must be a literal.
struct IntegerRange {
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::string_view limit{};
};
struct NumberRange {
  double min = -std::numeric_limits<double>::max();
  bool min_excluded = false;
  double max = std::numeric_limits<double>::max();
  std::string_view limit{};
};

namespace detail {
[[nodiscard]] std::optional<double> read_number(const Json& json, const Cursor& cursor,
                                                const NumberRange& range);
[[nodiscard]] std::optional<std::int64_t> read_integer(const Json& json, const Cursor& cursor,
                                                       const IntegerRange& range);
[[nodiscard]] std::optional<std::size_t> read_word(const Json& json, const Cursor& cursor,
                                                   const std::vector<std::string>& words);
[[nodiscard]] bool expect(bool holds, const Json& json, const Cursor& cursor,
                          std::string_view allowed);
void unknown_key(const std::string& key, const Json& value, const Cursor& cursor,
                 const std::vector<std::string>& known,
                 const std::map<std::string, std::function<std::string(const Json&)>>& foreign);
void missing_key(const std::string& key, const Cursor& cursor);
void fault_if_wrong_schema(const Json& json, const Cursor& cursor, std::string_view kind);
[[nodiscard]] std::string schema_id(std::string_view kind);
}  // namespace detail

inline constexpr NumberRange positive{.min = 0.0, .min_excluded = true};
inline constexpr NumberRange not_negative{.min = 0.0};
inline constexpr NumberRange any_number{};

/// A number without a fraction, however it is written: 2, 2.0 and 2e0 are the same.
template <class T = std::int64_t>
[[nodiscard]] ValueType<T> integer(IntegerRange range = {}) {
  range.max = std::min<std::int64_t>(range.max, static_cast<std::int64_t>(std::min<std::uint64_t>(
                                                    std::numeric_limits<T>::max(), INT64_MAX)));
  return {[range](const Json& json, const Cursor& cursor, T& value) {
            if (auto read = detail::read_integer(json, cursor, range)) {
              value = static_cast<T>(*read);
            }
          },
          [](const T& value) { return Json(value); },
          [range] {
            return Json{{"type", "integer"}, {"minimum", range.min}, {"maximum", range.max}};
          }};
}

[[nodiscard]] ValueType<double> number(NumberRange range = {});
[[nodiscard]] ValueType<std::string> text();
[[nodiscard]] ValueType<bool> boolean();
/// A whole number of bytes or FLOPs.
[[nodiscard]] ValueType<Bytes> bytes_value();
[[nodiscard]] ValueType<Flops> flops_value();
/// Any JSON value, read by nobody here.
[[nodiscard]] ValueType<Json> anything();

template <class Enum>
[[nodiscard]] ValueType<Enum> word() {
  std::vector<std::string> words(Spelling<Enum>::words.begin(), Spelling<Enum>::words.end());
  return {[words](const Json& json, const Cursor& cursor, Enum& value) {
            if (auto index = detail::read_word(json, cursor, words)) {
              value = static_cast<Enum>(*index);
            }
          },
          [](const Enum& value) { return Json(spelling(value)); },
          [words] { return Json{{"enum", words}}; }};
}

template <class T>
[[nodiscard]] ValueType<std::vector<T>> list(const ValueType<T>& item, std::size_t min_items = 0,
                                             std::size_t max_items = SIZE_MAX) {
  return {[=](const Json& json, const Cursor& cursor, std::vector<T>& values) {
            if (!detail::expect(json.is_array(), json, cursor, "a list")) return;
            if (json.size() < min_items || json.size() > max_items) {
              cursor.fault("got a list of " + std::to_string(json.size()) + " (must hold " +
                           std::to_string(min_items) +
                           (max_items == SIZE_MAX    ? " or more)"
                            : max_items == min_items ? ")"
                                                     : " to " + std::to_string(max_items) + ")"));
            }
            values.clear();
            values.reserve(json.size());
            for (std::size_t i = 0; i < json.size(); ++i) {
              item.read(json[i], cursor.at(i), values.emplace_back());
            }
          },
          [item](const std::vector<T>& values) {
            Json json = Json::array();
            for (const T& value : values) json.push_back(item.write(value));
            return json;
          },
          [=] {
            Json schema{{"type", "array"}, {"items", item.schema()}, {"minItems", min_items}};
            if (max_items != SIZE_MAX) schema["maxItems"] = max_items;
            return schema;
          }};
}

template <class T>
[[nodiscard]] ValueType<std::map<std::string, T>> dictionary(const ValueType<T>& item) {
  return {[item](const Json& json, const Cursor& cursor, std::map<std::string, T>& values) {
            if (!detail::expect(json.is_object(), json, cursor, "an object")) return;
            values.clear();
            for (const auto& [key, value] : json.items()) {
              item.read(value, cursor.at(key), values[key]);
            }
          },
          [item](const std::map<std::string, T>& values) {
            Json json = Json::object();
            for (const auto& [key, value] : values) json[key] = item.write(value);
            return json;
          },
          [item] { return Json{{"type", "object"}, {"additionalProperties", item.schema()}}; }};
}

/// A value for each enumerator, written as an object with all of its words as keys.
template <class Enum, class T>
[[nodiscard]] ValueType<PerEnum<Enum, T>> per_word(const ValueType<T>& item) {
  return {[item](const Json& json, const Cursor& cursor, PerEnum<Enum, T>& values) {
            if (!detail::expect(json.is_object(), json, cursor, "an object")) return;
            std::vector<std::string> words(Spelling<Enum>::words.begin(),
                                           Spelling<Enum>::words.end());
            for (const auto& [key, value] : json.items()) {
              const auto found = std::find(words.begin(), words.end(), key);
              if (found == words.end()) {
                detail::unknown_key(key, value, cursor, words, {});
                continue;
              }
              item.read(value, cursor.at(key), values[static_cast<Enum>(found - words.begin())]);
            }
            for (const std::string& key : words) {
              if (!json.contains(key)) detail::missing_key(key, cursor);
            }
          },
          [item](const PerEnum<Enum, T>& values) {
            Json json = Json::object();
            for (std::size_t i = 0; i < count_of<Enum>; ++i) {
              const auto key = static_cast<Enum>(i);
              json[std::string(spelling(key))] = item.write(values[key]);
            }
            return json;
          },
          [item] {
            Json properties = Json::object();
            for (const char* key : Spelling<Enum>::words) properties[key] = item.schema();
            return Json{{"type", "object"},
                        {"properties", properties},
                        {"required", Spelling<Enum>::words},
                        {"additionalProperties", false}};
          }};
}

/// The fields of T in the order in which they are written.
template <class T>
class FieldTable {
 public:
  /// A key that must be there.
  template <class M>
  FieldTable& required(std::string key, M T::* member, const ValueType<M>& type, std::string doc) {
    return add(std::move(key), member, type, std::move(doc), true);
  }
  /// A key that may be left out; the member then keeps the value that T gives it.
  template <class M>
  FieldTable& defaulted(std::string key, M T::* member, const ValueType<M>& type, std::string doc) {
    return add(std::move(key), member, type, std::move(doc), false);
  }
  /// A key that may be left out and is not written when the member is empty.
  template <class M>
  FieldTable& optional(std::string key, std::optional<M> T::* member, const ValueType<M>& type,
                       std::string doc) {
    Field field{std::move(key), std::move(doc), false, {}, {}, type.schema};
    field.read = [member, type](const Json& json, const Cursor& cursor, T& object) {
      type.read(json, cursor, (object.*member).emplace());
    };
    field.write = [member, type](const T& object) -> std::optional<Json> {
      const auto& value = object.*member;
      return value ? std::optional<Json>(type.write(*value)) : std::nullopt;
    };
    return push(std::move(field));
  }
  /// A required key whose value spreads over several members.
  FieldTable& whole(std::string key, const ValueType<T>& type, std::string doc) {
    return push({std::move(key), std::move(doc), true, type.read, type.write, type.schema});
  }
  /// A key that other tools use for something that stands elsewhere here; `advice` gets the value
  /// and says what to write instead.
  FieldTable& foreign(std::string key, std::function<std::string(const Json&)> advice) {
    foreign_[std::move(key)] = std::move(advice);
    return *this;
  }
  /// A condition on the whole object, checked when its fields had no fault.
  FieldTable& check(std::function<void(const T&, const Cursor&)> condition) {
    checks_.push_back(std::move(condition));
    return *this;
  }
  /// The object stands in a file of its own: its first key is `"schema": "paceline/<kind>/1"`.
  FieldTable& document(std::string kind) {
    kind_ = std::move(kind);
    return *this;
  }

  [[nodiscard]] const std::string& kind() const { return kind_; }

  /// `elsewhere`: keys of the object that the caller reads.
  void read(const Json& json, const Cursor& cursor, T& object,
            const std::vector<std::string>& elsewhere = {}) const {
    if (!detail::expect(json.is_object(), json, cursor, "an object")) return;
    const std::size_t faults_before = cursor.faults().size();
    if (!kind_.empty()) detail::fault_if_wrong_schema(json, cursor, kind_);
    std::vector<std::string> read_apart = elsewhere;
    if (!kind_.empty()) read_apart.emplace_back("schema");
    for (const auto& [key, value] : json.items()) {
      const Field* field = find(key);
      if (field != nullptr) {
        field->read(value, cursor.at(key), object);
      } else if (std::find(read_apart.begin(), read_apart.end(), key) == read_apart.end()) {
        std::vector<std::string> known = read_apart;
        for (const Field& other : fields_) known.push_back(other.key);
        detail::unknown_key(key, value, cursor, known, foreign_);
      }
    }
    for (const Field& field : fields_) {
      if (field.is_required && !json.contains(field.key)) detail::missing_key(field.key, cursor);
    }
    if (cursor.faults().size() != faults_before) return;
    for (const auto& condition : checks_) condition(object, cursor);
  }

  [[nodiscard]] Json write(const T& object) const {
    Json json = Json::object();
    if (!kind_.empty()) json["schema"] = detail::schema_id(kind_);
    for (const Field& field : fields_) {
      if (auto value = field.write(object)) json[field.key] = std::move(*value);
    }
    return json;
  }

  /// JSON Schema (draft 2020-12) of what `read` accepts, conditions across fields apart.
  [[nodiscard]] Json schema() const {
    Json properties = Json::object();
    Json required = Json::array();
    if (!kind_.empty()) {
      properties["schema"] = {{"const", detail::schema_id(kind_)}};
      required.push_back("schema");
    }
    for (const Field& field : fields_) {
      Json entry = field.schema();
      entry["description"] = field.doc;
      properties[field.key] = std::move(entry);
      if (field.is_required) required.push_back(field.key);
    }
    return Json{{"type", "object"},
                {"properties", properties},
                {"required", required},
                {"additionalProperties", false}};
  }

 private:
  struct Field {
    std::string key;
    std::string doc;
    bool is_required = false;
    std::function<void(const Json&, const Cursor&, T&)> read;
    std::function<std::optional<Json>(const T&)> write;
    std::function<Json()> schema;
  };

  template <class M>
  FieldTable& add(std::string key, M T::* member, const ValueType<M>& type, std::string doc,
                  bool is_required) {
    Field field{std::move(key), std::move(doc), is_required, {}, {}, type.schema};
    field.read = [member, type](const Json& json, const Cursor& cursor, T& object) {
      type.read(json, cursor, object.*member);
    };
    field.write = [member, type](const T& object) { return type.write(object.*member); };
    return push(std::move(field));
  }
  FieldTable& push(Field field) {
    fields_.push_back(std::move(field));
    return *this;
  }
  [[nodiscard]] const Field* find(const std::string& key) const {
    for (const Field& field : fields_) {
      if (field.key == key) return &field;
    }
    return nullptr;
  }

  std::string kind_;
  std::vector<Field> fields_;
  std::vector<std::function<void(const T&, const Cursor&)>> checks_;
  std::map<std::string, std::function<std::string(const Json&)>> foreign_;
};

/// An object with its own table. The table must outlive the value type.
template <class T>
[[nodiscard]] ValueType<T> record(const FieldTable<T>& table) {
  return {[&table](const Json& json, const Cursor& cursor, T& value) {
            table.read(json, cursor, value);
          },
          [&table](const T& value) { return table.write(value); },
          [&table] { return table.schema(); }};
}

namespace detail {

/// Reads what was parsed, also where a key was given twice. Throws `ConfigError` with all faults.
template <class T>
[[nodiscard]] T read_parsed(const Json& json, const FieldTable<T>& table, const Cursor& cursor) {
  if (json.is_null()) cursor.faults().throw_if_any();
  T value{};
  table.read(json, cursor, value);
  cursor.faults().throw_if_any();
  return value;
}

}  // namespace detail

/// Reads `json` with `table`; throws `ConfigError` with all faults of the file.
template <class T>
[[nodiscard]] T from_json(const Json& json, const FieldTable<T>& table, const std::string& file) {
  Faults faults;
  return detail::read_parsed(json, table, Cursor(file, faults));
}

/// Reads a document from text. Throws `ConfigError` with all faults.
template <class T>
[[nodiscard]] T from_text(std::string_view text, const FieldTable<T>& table,
                          const std::string& file) {
  Faults faults;
  const Cursor cursor(file, faults);
  return detail::read_parsed(parse_json(text, cursor), table, cursor);
}

/// Reads a document from a file. Throws `ConfigError` with all faults.
template <class T>
[[nodiscard]] T from_file(const std::filesystem::path& path, const FieldTable<T>& table) {
  Faults faults;
  const Cursor cursor(path.string(), faults);
  return detail::read_parsed(read_json_file(path, cursor), table, cursor);
}

}  // namespace paceline::core
