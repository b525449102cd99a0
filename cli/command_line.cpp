#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <ostream>
#include <string_view>

#include "cli/verb.hpp"
#include "core/error.hpp"
#include "core/json.hpp"

namespace paceline::cli {
namespace {

constexpr std::string_view version = PACELINE_VERSION;

std::string overview() {
  std::string text =
      "paceline predicts how fast a Vision Transformer trains on a cluster, and how far off that\n"
      "was once it really ran.\n\n"
      "usage: paceline VERB …\n\n";
  for (const Verb& verb : verbs()) text += fmt::format("  {:<13} {}\n", verb.name, verb.summary);
  text += fmt::format("  {:<13} {}\n", "help VERB", "what a verb does, its options, an example");
  text += fmt::format("  {:<13} {}\n", "--version", "print the version");
  text += "\nexample:\n  " + verbs().front().examples.front() + "\n";
  return text;
}

const Verb& find_verb(const std::string& name) {
  std::vector<std::string> known{"help"};
  for (const Verb& verb : verbs()) {
    if (verb.name == name) return verb;
    known.push_back(verb.name);
  }
  const std::string near = core::nearest(name, known);
  throw core::UsageError("paceline: unknown verb \"" + name + "\"" +
                         (near.empty() ? "" : ", did you mean \"" + near + "\"?") +
                         " (`paceline help` lists all)");
}

int show_help(const std::vector<std::string>& words, const Console& console) {
  if (words.size() > 1) {
    throw core::UsageError("paceline help: got " + std::to_string(words.size()) +
                           " words (must be one verb, or none)");
  }
  console.print(words.empty() ? overview() : help_of(find_verb(words.front()), console.width));
  return static_cast<int>(ExitCode::done);
}

int dispatch(const std::vector<std::string>& words, const Console& console) {
  if (words.empty()) {
    console.complain(overview());
    return static_cast<int>(ExitCode::bad_input);
  }
  const std::string& first = words.front();
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (first == "--version") {
    console.print("paceline " + std::string(version) + "\n");
    return static_cast<int>(ExitCode::done);
  }
  if (first == "help" || first == "--help" || first == "-h") return show_help(rest, console);
  const Verb& verb = find_verb(first);
  const bool asks_for_help = std::any_of(rest.begin(), rest.end(), [](const std::string& word) {
    return word == "--help" || word == "-h";
  });
  const bool is_passed_on = verb.passes_on && !rest.empty() && !rest.front().starts_with('-');
  if (asks_for_help && !is_passed_on) return show_help({first}, console);
  return verb.run(parse_arguments(verb, rest), console);
}

}  // namespace

int run_command_line(const std::vector<std::string>& words, const Console& console) {
  ExitCode code = ExitCode::failed;
  try {
    const int result = dispatch(words, console);
    console.out.flush();
    if (console.out) return result;
    console.complain("paceline: standard output cannot be written (is the disk full?)\n");
  } catch (const core::ConfigError& error) {
    console.complain(std::string(error.what()) + "\n");
    code = ExitCode::bad_input;
  } catch (const core::UsageError& error) {
    console.complain(std::string(error.what()) + "\n");
    code = ExitCode::bad_input;
  } catch (const core::RunError& error) {
    console.complain(std::string(error.what()) + "\n");
  } catch (const std::bad_alloc&) {
    console.complain("paceline: not enough memory for this (try a smaller experiment)\n");
  } catch (const std::exception& error) {
    console.complain("paceline: an internal promise was broken: " + std::string(error.what()) +
                     " (please report it with the command)\n");
  }
  return static_cast<int>(code);
}

}  // namespace paceline::cli
