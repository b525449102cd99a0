#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "cli/display_text.hpp"
#include "cli/quantity_text.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "hardware_profiles/cluster.hpp"
#include "hardware_profiles/gpu.hpp"
#include "hardware_profiles/node.hpp"
#include "models/framework_profile.hpp"
#include "models/zoo.hpp"

namespace paceline::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

int list_models(const std::string& /*profiles*/, const Console& console) {
  Table table({{.header = "model", .align = Align::left},
               {.header = "parameters 10^6"},
               {.header = "GFLOP an image"},
               {.header = "tokens", .drop_order = 2},
               {.header = "classes", .drop_order = 3},
               {.header = "also called", .align = Align::left, .drop_order = 1}},
              0);
  constexpr int longest_aliases = 24;
  for (const models::ZooEntry& entry : models::zoo()) {
    const models::VitArchitecture& model = entry.architecture;
    const auto parameters = static_cast<double>(models::parameter_count(model));
    const auto flops = static_cast<double>(models::forward_flops(model, 1).value());
    table.add_row({model.id, significant(parameters / 1e6), significant(flops / 1e9),
                   std::to_string(model.tokens()), std::to_string(model.classes),
                   shortened(joined(entry.aliases), longest_aliases)});
  }
  console.print(table.text(console.width));
  return 0;
}

int list_frameworks(const std::string& /*profiles*/, const Console& console) {
  Table table({{.header = "framework", .align = Align::left},
               {.header = "version", .align = Align::left},
               {.header = "attention", .align = Align::left},
               {.header = "optimizer kernels", .align = Align::left},
               {.header = "host µs an operator"}},
              0);
  table.add_row({"paceline", "", "", "", ""});
  for (const models::FrameworkProfile& one : models::framework_profiles()) {
    table.add_row({std::string(core::spelling(one.name)), one.version,
                   one.fused_attention ? "one kernel" : "products and softmax",
                   std::string(core::spelling(one.optimizer_kernels)),
                   significant(one.host_us.forward_operator)});
  }
  console.print(table.text(console.width));
  return 0;
}

int print_profiles(const std::string& what,
                   const std::vector<hardware_profiles::ProfileEntry>& entries,
                   const Console& console) {
  Table table({{.header = what, .align = Align::left},
               {.header = "name", .align = Align::left, .shortens = true},
               {.header = "from", .align = Align::left, .shortens = true}},
              0);
  std::string problems;
  for (const auto& entry : entries) {
    table.add_row(
        {entry.id, entry.problem.empty() ? entry.name : "cannot be read", entry.path.string()});
    if (!entry.problem.empty()) problems += entry.problem + "\n";
  }
  if (table.empty()) {
    console.print("none\n");
  } else {
    console.print(table.text(console.width));
  }
  console.out.flush();
  console.complain(problems);
  return problems.empty() ? 0 : 1;
}

/// Files, and this machine where none describes it.
int list_clusters(const std::string& profiles, const Console& console) {
  constexpr auto this_machine = "this_machine";
  auto entries = hardware_profiles::list_clusters(profiles);
  const bool has_file = std::any_of(entries.begin(), entries.end(),
                                    [&](const auto& entry) { return entry.id == this_machine; });
  if (!has_file) {
    const auto cluster = hardware_profiles::find_cluster(this_machine, profiles);
    entries.push_back({this_machine, cluster.name, "as detected now", ""});
  }
  return print_profiles("cluster", entries, console);
}

struct ListKind {
  std::string name;
  std::function<int(const std::string& profiles, const Console& console)> print;
};

const std::vector<ListKind>& kinds() {
  using Profiles = const std::string&;
  static const std::vector<ListKind> all{
      {"models", list_models},
      {"gpus",
       [](Profiles profiles, const Console& console) {
         return print_profiles("gpu", hardware_profiles::list_gpus(profiles), console);
       }},
      {"nodes",
       [](Profiles profiles, const Console& console) {
         return print_profiles("node", hardware_profiles::list_nodes(profiles), console);
       }},
      {"clusters", list_clusters},
      {"frameworks", list_frameworks}};
  return all;
}

int list(const Arguments& arguments, const Console& console) {
  const std::string& wanted = arguments.positional.front();
  std::vector<std::string> names;
  for (const ListKind& kind : kinds()) {
    if (kind.name == wanted) return kind.print(arguments.value("profiles").value_or(""), console);
    names.push_back(kind.name);
  }
  const std::string near = core::nearest(wanted, names);
  throw core::UsageError("paceline list: unknown kind \"" + wanted + "\"" +
                         (near.empty() ? "" : ", did you mean " + near + "?") +
                         " (must be one of " + joined(names) + ")");
}

}  // namespace

Verb list_verb() {
  return {.name = "list",
          .summary = "models, gpus, nodes, clusters or frameworks that are known",
          .operands = "models|gpus|nodes|clusters|frameworks",
          .arity = {1, 1},
          .about =
              "Prints what can be named in an experiment, and for hardware the file that each "
              "entry comes from.",
          .examples = {"paceline list models", "paceline list clusters --profiles my_profiles"},
          .options = {{"profiles", "DIR", "look for hardware there first"}},
          .run = list};
}

}  // namespace paceline::cli
