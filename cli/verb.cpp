#include "cli/verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>

#include "cli/display_text.hpp"
#include "core/error.hpp"
#include "core/json.hpp"

namespace paceline::cli {
namespace {

namespace options = boost::program_options;

constexpr const char* positional_name = "operand";

options::options_description description_of(const Verb& verb) {
  options::options_description description;
  for (const Option& option : verb.options) {
    if (option.value_name.empty()) {
      description.add_options()(option.name.c_str(), option.doc.c_str());
      continue;
    }
    auto* value = options::value<std::vector<std::string>>();
    if (option.repeated) value->composing();
    description.add_options()(option.name.c_str(), value, option.doc.c_str());
  }
  description.add_options()(positional_name, options::value<std::vector<std::string>>(), "");
  return description;
}

std::string see_help(const Verb& verb) { return " (`paceline help " + verb.name + "` shows all)"; }

[[noreturn]] void refuse_unknown(const Verb& verb, const std::string& word) {
  const std::string typed = word.substr(0, word.find('='));
  const std::string name = typed.substr(std::min(typed.find_first_not_of('-'), typed.size()));
  std::vector<std::string> known;
  known.reserve(verb.options.size());
  for (const Option& option : verb.options) known.push_back(option.name);
  std::string near = core::nearest(name, known);
  for (const std::string& one : known) {
    if (!name.empty() && one.starts_with(name)) near = one;
  }
  throw core::UsageError("paceline " + verb.name + ": unknown option " + typed +
                         (near.empty() ? "" : ", did you mean --" + near + "?") + see_help(verb));
}

void check_counts(const Verb& verb, const Arguments& arguments) {
  for (const Option& option : verb.options) {
    const auto found = arguments.options.find(option.name);
    if (found == arguments.options.end() || option.repeated || found->second.size() < 2) continue;
    throw core::UsageError("paceline " + verb.name + ": --" + option.name +
                           " is given twice (it may stand once)");
  }
  const std::size_t given = arguments.positional.size();
  if (given < verb.arity.least) {
    throw core::UsageError("paceline " + verb.name + ": needs " + verb.operands + see_help(verb));
  }
  if (given > verb.arity.most) {
    throw core::UsageError("paceline " + verb.name + ": does not know what to do with \"" +
                           arguments.positional[verb.arity.most] + "\" (takes " +
                           (verb.arity.most == 0 ? "no operand" : verb.operands) + ")" +
                           see_help(verb));
  }
}

Arguments parse_with_boost(const Verb& verb, const std::vector<std::string>& words) {
  namespace style = options::command_line_style;
  options::positional_options_description positional;
  positional.add(positional_name, -1);
  const options::options_description description = description_of(verb);
  const auto parsed = options::command_line_parser(words)
                          .options(description)
                          .positional(positional)
                          .style(style::unix_style & ~style::allow_guessing)
                          .run();
  Arguments arguments;
  for (const auto& option : parsed.options) {
    if (option.string_key == positional_name && option.position_key < 0) {
      refuse_unknown(verb, "--" + option.string_key);
    }
    auto& values = option.string_key == positional_name ? arguments.positional
                                                        : arguments.options[option.string_key];
    values.insert(values.end(), option.value.begin(), option.value.end());
  }
  return arguments;
}

}  // namespace

std::optional<std::string> Arguments::value(const std::string& name) const {
  const auto found = options.find(name);
  if (found == options.end() || found->second.empty()) return std::nullopt;
  return found->second.front();
}

std::vector<std::string> Arguments::values(const std::string& name) const {
  const auto found = options.find(name);
  return found == options.end() ? std::vector<std::string>() : found->second;
}

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all{predict_verb(),      compare_verb(), run_verb(),
                                     scoreboard_verb(),   check_verb(),   list_verb(),
                                     make_profile_verb(), detect_verb()};
  return all;
}

Arguments parse_arguments(const Verb& verb, const std::vector<std::string>& words) {
  Arguments arguments;
  try {
    if (verb.passes_on) {
      arguments.positional = words;
    } else {
      arguments = parse_with_boost(verb, words);
    }
  } catch (const options::unknown_option& error) {
    refuse_unknown(verb, error.get_option_name());
  } catch (const options::error& error) {
    throw core::UsageError("paceline " + verb.name + ": " + error.what() + see_help(verb));
  }
  check_counts(verb, arguments);
  return arguments;
}

std::string help_of(const Verb& verb, int width) {
  std::string text = "paceline " + verb.name;
  if (!verb.operands.empty()) text += " " + verb.operands;
  for (const Option& option : verb.options) {
    text += " [--" + option.name + (option.value_name.empty() ? "" : " " + option.value_name) +
            "]" + (option.repeated ? "…" : "");
  }
  std::string help = "usage: " + wrapped(text, width, 9, 7) + "\n\n";
  help += wrapped(verb.about, width) + "\n";
  std::size_t longest = 0;
  const auto label_of = [](const Option& option) {
    return "--" + option.name + (option.value_name.empty() ? "" : " " + option.value_name);
  };
  for (const Option& option : verb.options) longest = std::max(longest, label_of(option).size());
  if (!verb.options.empty()) help += "\n";
  for (const Option& option : verb.options) {
    const auto column = static_cast<int>(longest) + 4;
    help += fmt::format("  {:<{}}  ", label_of(option), longest) +
            wrapped(option.doc, width, column, column) + "\n";
  }
  help += verb.examples.size() == 1 ? "\nexample:\n" : "\nexamples:\n";
  for (const std::string& example : verb.examples) help += "  " + example + "\n";
  return help;
}

double not_negative_number(const std::string& name, const std::string& text) {
  std::size_t end = 0;
  double value = -1.0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  if (end == 0 || end != text.size() || !std::isfinite(value) || value < 0.0) {
    throw core::UsageError("--" + name + ": got \"" + text + "\" (must be a number >= 0)");
  }
  return value;
}

}  // namespace paceline::cli
