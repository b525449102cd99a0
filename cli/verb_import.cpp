#include <fmt/format.h>

#include <optional>

#include "cli/output_file.hpp"
#include "cli/quantity_text.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json.hpp"
#include "hardware_profiles/nccl_tests_text.hpp"

namespace paceline::cli {
namespace {

using core::CollectiveKind;
using hardware_profiles::NamedText;
using hardware_profiles::NcclTestsLog;

constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr auto nccl_tests = "nccl-tests";

std::vector<std::string> collectives() {
  return {core::Spelling<CollectiveKind>::words.begin(),
          core::Spelling<CollectiveKind>::words.end()};
}

std::optional<CollectiveKind> collective_of(const Arguments& arguments) {
  const auto given = arguments.value("collective");
  if (!given) return std::nullopt;
  const std::vector<std::string> words = collectives();
  std::string known;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == *given) return static_cast<CollectiveKind>(i);
    known += (known.empty() ? "" : ", ") + words[i];
  }
  const std::string near = core::nearest(*given, words);
  throw core::UsageError("paceline import: --collective: got \"" + *given + "\"" +
                         (near.empty() ? "" : ", did you mean " + near + "?") +
                         " (must be one of " + known + ")");
}

/// The table as nccl-tests prints it, in our columns.
std::string table_text(const NcclTestsLog& log, int width) {
  Table table(
      {{.header = "bytes"}, {.header = "µs"}, {.header = "algbw GB/s"}, {.header = "busbw GB/s"}},
      0);
  const double factor = hardware_profiles::busbw_factor(log.table.kind, log.table.ranks);
  for (const auto& point : log.table.points) {
    const double algbw = static_cast<double>(point.bytes.value()) / (point.time_us * 1e3);
    table.add_row({std::to_string(point.bytes.value()), significant(point.time_us),
                   significant(algbw), significant(algbw * factor)});
  }
  return table.text(width);
}

std::string files_of(const Arguments& arguments) {
  const auto& words = arguments.positional;
  if (words.size() == 1) return words.front();
  if (words.front() == nccl_tests) return words.back();
  if (words.front() == "nvidia-smi-topo") {
    throw core::UsageError(
        "paceline import: a topology alone does not name the cards (use paceline detect "
        "--from-nvidia-smi FILE --from-topo FILE)");
  }
  throw core::UsageError("paceline import: unknown kind \"" + words.front() +
                         "\" (must be nccl-tests)");
}

int import(const Arguments& arguments, const Console& console) {
  const std::string path = files_of(arguments);
  const auto kind = collective_of(arguments);
  const std::string profiles = arguments.value("profiles").value_or("");
  const auto into = arguments.value("into");
  const auto target = output_file(arguments, "out");
  if (target && !into) {
    throw core::UsageError(
        "paceline import: --out needs --into CLUSTER (the cluster file that the table is added "
        "to)");
  }
  const NcclTestsLog log =
      hardware_profiles::read_nccl_tests({path, core::read_file(path, most_bytes)}, kind);
  const std::string what =
      fmt::format("{} over {} ranks on {} node{} ({})", core::spelling(log.table.kind),
                  log.table.ranks, log.table.nodes, log.table.nodes == 1 ? "" : "s",
                  log.gpu.empty() ? "GPU not named" : log.gpu);
  std::string cluster;
  if (into) {
    cluster =
        hardware_profiles::cluster_with(log.table, "nccl-tests: " + what + ", " + path,
                                        {*into, core::read_file(*into, most_bytes)}, profiles);
  }
  if (!target || !target->is_standard_output()) {
    console.print(what +
                  fmt::format(": {} sizes, best busbw {} GB/s\n\n", log.table.points.size(),
                              significant(log.best_busbw_gb_per_s)) +
                  table_text(log, console.width));
  }
  if (target) {
    target->write(cluster, console);
  } else if (into) {
    core::write_file_atomically(*into, cluster);
  }
  if (into && (!target || !target->is_standard_output())) {
    console.print(
        fmt::format("\nAdded to {}.\n", target ? arguments.value("out").value_or("") : *into));
  }
  return 0;
}

}  // namespace

Verb import_verb() {
  return {.name = "import",
          .summary = "add other tools' measurements to a cluster file",
          .operands = "[nccl-tests] FILE",
          .arity = {1, 2},
          .about =
              "Reads a log of nccl-tests, prints its table, and adds it to a cluster file as a "
              "measured collective (in the place of one of the same collective, ranks and nodes). "
              "Bytes, algbw and busbw are as nccl-tests defines them; times are those out of "
              "place. Logs of other tools, which count other bytes, are refused. Comments of the "
              "cluster file are not kept.",
          .examples = {"paceline import nccl-tests all_reduce.log --into cluster.json"},
          .options = {{"into", "CLUSTER", "the cluster file that the table is added to"},
                      {"out", "FILE", "write the cluster file there instead; - is standard output"},
                      {"collective", "KIND", "which one it is, where the log does not say"},
                      {"profiles", "DIR", "look for what the cluster refers to there first"}},
          .run = import};
}

}  // namespace paceline::cli
