#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace paceline::core {

/// JSON in the order in which it was written.
using Json = nlohmann::ordered_json;

/// Collects what is wrong with a file while it is read, so that one reading reports everything.
class Faults {
 public:
  void add(Fault fault) { faults_.push_back(std::move(fault)); }
  [[nodiscard]] bool empty() const { return faults_.empty(); }
  [[nodiscard]] std::size_t size() const { return faults_.size(); }
  [[nodiscard]] const std::vector<Fault>& list() const { return faults_; }
  /// Throws `ConfigError` with all faults if there is any.
  void throw_if_any() const;

 private:
  std::vector<Fault> faults_;
};

/// Where a reader stands: file, JSON pointer, and the list that takes its faults.
class Cursor {
 public:
  Cursor(std::string file, Faults& faults) : file_(std::move(file)), faults_(&faults) {}

  [[nodiscard]] Cursor at(std::string_view key) const;
  [[nodiscard]] Cursor at(std::size_t index) const { return at(std::to_string(index)); }
  /// Records a fault here. `problem` says what was read and what is allowed.
  void fault(std::string problem) const;

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::string& pointer() const { return pointer_; }
  [[nodiscard]] Faults& faults() const { return *faults_; }

 private:
  std::string file_;
  std::string pointer_;
  Faults* faults_;
};

/// Limits of every file that Paceline reads.
inline constexpr std::size_t max_json_depth = 64;
inline constexpr std::size_t max_json_bytes = std::size_t{512} << 20;

/// Parses JSON with `//` and `/* */` comments. Malformed text, a key given twice, nesting deeper
/// than `max_json_depth` and text beyond `max_json_bytes` become faults; the result is then null.
[[nodiscard]] Json parse_json(std::string_view text, const Cursor& cursor);

/// Reads and parses a file. A file that is missing or unreadable is a fault too.
[[nodiscard]] Json read_json_file(const std::filesystem::path& path, const Cursor& cursor);

/// A short rendering of a value for messages: at most 60 bytes.
[[nodiscard]] std::string shown(const Json& value);

/// The candidate nearest to `word` in spelling, whatever the case, or an empty string if none is
/// near.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

/// Text of a JSON value for a file: two-space indent, numbers that round-trip, final newline.
[[nodiscard]] std::string to_text(const Json& value);

}  // namespace paceline::core
