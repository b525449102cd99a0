#include "cli/output_file.hpp"
#include "cli/render_run_set.hpp"
#include "cli/verb.hpp"
#include "core/error.hpp"
#include "validate/run_set.hpp"

namespace paceline::cli {
namespace {

int scoreboard(const Arguments& arguments, const Console& console) {
  const auto folder = arguments.value("runs");
  if (!folder) {
    throw core::UsageError(
        "paceline scoreboard: needs --runs DIR (a folder with <name>.predicted.json and "
        "<name>.measured.<k>.json)");
  }
  const auto file = output_file(arguments, "markdown");
  const validate::RunSet set = validate::read_run_set(*folder);
  if (file) file->write(run_set_markdown(set), console);
  if (!file || !file->is_standard_output()) console.print(run_set_screen(set, console.width));
  return 0;
}

}  // namespace

Verb scoreboard_verb() {
  return {.name = "scoreboard",
          .summary = "how far off predictions are over a set of runs",
          .operands = {},
          .arity = {0, 0},
          .about =
              "Joins every pair <name>.predicted*.json and <name>.measured.<k>.json of a "
              "folder, several repeats k each. Prints the error of each configuration, how "
              "much identical repeats differ, median and worst error, and what trivial "
              "predictors reach on the same rows.",
          .examples = {"paceline scoreboard --runs runs --markdown accuracy.md"},
          .options = {{"runs", "DIR", "the folder of reports"},
                      {"markdown", "FILE", "write the tables as Markdown; - is standard output"}},
          .run = scoreboard};
}

}  // namespace paceline::cli
