#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.hpp"

namespace paceline::cli {

/// An option of a verb: `--name`, `--name VALUE` if it has a value, several times if repeated.
struct Option {
  std::string name;        // without dashes
  std::string value_name;  // empty: a switch
  std::string doc;
  bool repeated = false;
};

/// What the user typed after the verb.
struct Arguments {
  std::vector<std::string> positional;
  std::map<std::string, std::vector<std::string>> options;

  [[nodiscard]] bool has(const std::string& name) const { return options.contains(name); }
  [[nodiscard]] std::optional<std::string> value(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> values(const std::string& name) const;
};

/// How many positional arguments a verb takes.
struct Arity {
  std::size_t least = 0;
  std::size_t most = SIZE_MAX;
};

/// One thing that `paceline` does.
struct Verb {
  std::string name;
  std::string summary;   // one line of `paceline help`
  std::string operands;  // "EXPERIMENT"; of the usage line
  Arity arity;
  std::string about;  // a paragraph of its help
  std::vector<std::string> examples;
  std::vector<Option> options;
  /// Returns the exit code, 0 or 1; throws for everything that is wrong.
  std::function<int(const Arguments&, const Console&)> run;
  /// Everything after the first operand goes to `run` as it stands.
  bool passes_on = false;
};

[[nodiscard]] Verb check_verb();
[[nodiscard]] Verb compare_verb();
[[nodiscard]] Verb detect_verb();
[[nodiscard]] Verb list_verb();
[[nodiscard]] Verb make_profile_verb();
[[nodiscard]] Verb predict_verb();
[[nodiscard]] Verb run_verb();
[[nodiscard]] Verb scoreboard_verb();

/// All of them, in the order of `paceline help`.
[[nodiscard]] const std::vector<Verb>& verbs();

/// Reads what follows the verb. Throws `core::UsageError` naming the option and the nearest known.
[[nodiscard]] Arguments parse_arguments(const Verb& verb, const std::vector<std::string>& words);

/// Usage, paragraph, options, examples.
[[nodiscard]] std::string help_of(const Verb& verb, int width);

/// The number in `text`, of option `--name`. Throws `core::UsageError`.
[[nodiscard]] double not_negative_number(const std::string& name, const std::string& text);

}  // namespace paceline::cli
