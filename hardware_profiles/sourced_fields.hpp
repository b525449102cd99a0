#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/fields.hpp"
#include "hardware_profiles/sourced.hpp"

/// How sourced values stand in JSON: `{"value": 320, "source": "datasheet"}`.
namespace paceline::hardware_profiles {

template <class T>
[[nodiscard]] core::ValueType<Sourced<T>> sourced(const core::ValueType<T>& value) {
  auto table = std::make_shared<core::FieldTable<Sourced<T>>>();
  table->required("value", &Sourced<T>::value, value, "the value");
  table->required("source", &Sourced<T>::source, core::text(), "an id in `sources`");
  return {[table](const core::Json& json, const core::Cursor& cursor, Sourced<T>& object) {
            table->read(json, cursor, object);
          },
          [table](const Sourced<T>& object) { return table->write(object); },
          [table] { return table->schema(); }};
}

/// An object that may have each word of `Enum` as a key.
template <class Enum, class T>
[[nodiscard]] core::ValueType<core::PerEnum<Enum, std::optional<T>>> some_words(
    const core::ValueType<T>& item) {
  using Values = core::PerEnum<Enum, std::optional<T>>;
  return {[item](const core::Json& json, const core::Cursor& cursor, Values& values) {
            if (!core::detail::expect(json.is_object(), json, cursor, "an object")) return;
            std::vector<std::string> words(core::Spelling<Enum>::words.begin(),
                                           core::Spelling<Enum>::words.end());
            for (const auto& [key, value] : json.items()) {
              const auto found = std::find(words.begin(), words.end(), key);
              if (found == words.end()) {
                core::detail::unknown_key(key, value, cursor, words, {});
                continue;
              }
              item.read(value, cursor.at(key),
                        values[static_cast<Enum>(found - words.begin())].emplace());
            }
          },
          [item](const Values& values) {
            core::Json json = core::Json::object();
            for (std::size_t i = 0; i < core::count_of<Enum>; ++i) {
              const auto key = static_cast<Enum>(i);
              if (values[key]) json[std::string(core::spelling(key))] = item.write(*values[key]);
            }
            return json;
          },
          [item] {
            core::Json properties = core::Json::object();
            for (const char* key : core::Spelling<Enum>::words) properties[key] = item.schema();
            return core::Json{
                {"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
          }};
}

[[nodiscard]] core::ValueType<Sources> sources_value();

/// A fault for every `source` in the document that `sources` does not declare.
void check_sources(const core::Json& document, const core::Cursor& cursor, const Sources& sources);

/// The certainty of a source, `assumed` if it is not declared.
[[nodiscard]] Certainty certainty_of(const std::string& source, const Sources& sources);

/// Fills in the certainty of anything with a `source` and a `certainty`.
template <class T>
void settle(T& value, const Sources& sources) {
  value.certainty = certainty_of(value.source, sources);
}
template <class T>
void settle(std::optional<T>& value, const Sources& sources) {
  if (value) settle(*value, sources);
}

}  // namespace paceline::hardware_profiles
