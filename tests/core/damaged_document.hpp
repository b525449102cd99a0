#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "core/json.hpp"

namespace paceline::test {

/// A good document with one value changed or taken away, and the fault that this must give.
struct Damage {
  const char* name;
  const char* where;                 // JSON pointer
  std::optional<std::string> value;  // JSON text; none: the key is taken away
  const char* pointer;
  const char* message;
};
inline void PrintTo(const Damage& damage, std::ostream* stream) { *stream << damage.name; }

inline std::string damaged(const std::string& text, const Damage& damage) {
  core::Json json = core::Json::parse(text);
  const core::Json::json_pointer where(damage.where);
  if (damage.value) {
    json[where] = core::Json::parse(*damage.value);
  } else {
    json[where.parent_pointer()].erase(where.back());
  }
  return json.dump();
}

}  // namespace paceline::test
