#include "core/json.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "core/file.hpp"

namespace paceline::core {

void Faults::throw_if_any() const {
  if (!faults_.empty()) throw ConfigError(faults_);
}

Cursor Cursor::at(std::string_view key) const {
  Cursor child = *this;
  child.pointer_ += '/';
  for (const char c : key) {  // RFC 6901 escapes
    if (c == '~') {
      child.pointer_ += "~0";
    } else if (c == '/') {
      child.pointer_ += "~1";
    } else {
      child.pointer_ += c;
    }
  }
  return child;
}

void Cursor::fault(std::string problem) const {
  faults_->add({file_, pointer_, std::move(problem)});
}

namespace {

/// At most `limit` bytes, cut between characters; bytes that are no UTF-8 are replaced.
std::string shortened(std::string text, std::size_t limit) {
  if (text.size() > limit) {
    const std::string_view ellipsis = "…";
    std::size_t end = limit - ellipsis.size();
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text.replace(end, std::string::npos, ellipsis);
  }
  const Json value(std::move(text));
  return Json::parse(value.dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

/// Builds a document from parse events; refuses duplicate keys and deep nesting.
class DocumentBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit DocumentBuilder(const Cursor& cursor) : root_cursor_(cursor) {}

  [[nodiscard]] Json take() { return std::move(root_); }

  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return scalar(value);
  }
  bool string(string_t& value) override { return scalar(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }

  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = stack_.back();
    level.key = name;
    level.has_key = true;
    level.repeated = !level.seen.insert(name).second;
    if (level.repeated) here().fault("this key is given twice (each key may stand once)");
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    std::string text = error.what();  // "[json.exception.parse_error.101] parse error at line …"
    if (const auto end = text.find("] "); end != std::string::npos) text.erase(0, end + 2);
    constexpr std::size_t longest_text = 200;  // it quotes all of a string that does not end
    text = shortened(std::move(text), longest_text);
    constexpr int number_overflow = 406;
    here().fault(error.id == number_overflow ? text + " (must lie within ±1.8e308)"
                                             : "not valid JSON: " + text);
    return false;
  }

 private:
  struct Level {
    Json* container;
    std::string key{};
    bool has_key = false;
    bool repeated = false;
    std::unordered_set<std::string> seen{};
  };

  /// The value that is being read.
  [[nodiscard]] Cursor here() const {
    Cursor cursor = root_cursor_;
    for (const Level& level : stack_) {
      if (level.container->is_array()) {
        const bool innermost = &level == &stack_.back();  // of others the last item is open
        cursor = cursor.at(level.container->size() - (innermost ? 0 : 1));
      } else if (level.has_key) {
        cursor = cursor.at(level.key);
      }
    }
    return cursor;
  }

  Json& place(Json value) {
    if (stack_.empty()) return root_ = std::move(value);
    Level& level = stack_.back();
    if (level.container->is_array()) {
      level.container->push_back(std::move(value));
      return level.container->back();
    }
    if (level.repeated) return (*level.container)[level.key] = std::move(value);
    // A lookup by key is linear; the builder knows that this one is new.
    auto& members = level.container->get_ref<Json::object_t&>();
    return members.emplace_back(level.key, std::move(value)).second;
  }

  template <class T>
  bool scalar(T&& value) {
    place(Json(std::forward<T>(value)));
    return true;
  }

  bool open(Json container) {
    if (stack_.size() >= max_json_depth) {
      root_cursor_.fault("nested more than " + std::to_string(max_json_depth) +
                         " levels deep (the limit)");
      return false;
    }
    stack_.push_back({.container = &place(std::move(container))});
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  Cursor root_cursor_;
  Json root_;
  std::vector<Level> stack_;
};

}  // namespace

Json parse_json(std::string_view text, const Cursor& cursor) {
  if (text.size() > max_json_bytes) {
    cursor.fault("holds " + std::to_string(text.size()) + " bytes (at most " +
                 std::to_string(max_json_bytes) + ")");
    return nullptr;
  }
  DocumentBuilder builder(cursor);
  constexpr bool strict = true;
  constexpr bool ignore_comments = true;
  const bool ok = Json::sax_parse(text, &builder, nlohmann::detail::input_format_t::json, strict,
                                  ignore_comments);
  return ok ? builder.take() : Json(nullptr);
}

Json read_json_file(const std::filesystem::path& path, const Cursor& cursor) {
  std::string text;
  try {
    text = read_file(path, max_json_bytes);
  } catch (const ConfigError& error) {
    for (const Fault& fault : error.faults()) cursor.faults().add(fault);
    return nullptr;
  }
  return parse_json(text, cursor);
}

std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  constexpr std::size_t limit = 60;
  return shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace), limit);
}

namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// Letters inserted, left out, changed or exchanged with their neighbour (optimal string alignment:
/// Damerau 1964); case does not count.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      const bool exchanged =
          i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest_word = 100;  // a longer one is no slip of the hand
  if (word.empty() || word.size() > longest_word) return {};
  std::string best;
  // A third of the word may differ, or two letters of it, but never all.
  const std::size_t most = std::min(std::max<std::size_t>(2, word.size() / 3), word.size() - 1);
  std::size_t best_distance = most + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string to_text(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace paceline::core
