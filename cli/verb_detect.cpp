#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <map>
#include <optional>

#include "cli/output_file.hpp"
#include "cli/verb.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "hardware_profiles/cluster.hpp"
#include "hardware_profiles/detected_cluster.hpp"
#include "hardware_profiles/host_cpu.hpp"

namespace paceline::cli {
namespace {

using hardware_profiles::DetectedCluster;
using hardware_profiles::MachineTexts;
using hardware_profiles::NamedText;

constexpr std::size_t most_bytes = std::size_t{16} << 20;
constexpr int exit_not_found = 127;  // of the shell

struct CommandResult {
  int code = 0;
  std::string text;
};

/// Standard output and errors of a command, and its exit code.
CommandResult result_of(const std::string& command) {
  const std::string line = "{ " + command + "; } 2>&1";
  std::FILE* pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) throw core::RunError("cannot start a shell for `" + command + "`");
  CommandResult result;
  std::array<char, 4096> buffer{};
  for (std::size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0 &&
                              result.text.size() < most_bytes;) {
    result.text.append(buffer.data(), count);
  }
  const int status = ::pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return result;
}

std::optional<NamedText> from_option(const Arguments& arguments, const std::string& option) {
  const auto path = arguments.value(option);
  if (!path) return std::nullopt;
  return NamedText{*path, core::read_file(*path, most_bytes)};
}

/// `--card 'NAME=ID'`, several times.
std::map<std::string, std::string> cards_of(const Arguments& arguments) {
  std::map<std::string, std::string> cards;
  for (const std::string& text : arguments.values("card")) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      throw core::UsageError("paceline detect: --card: got \"" + text +
                             "\" (must be 'NAME=ID': a name of nvidia-smi and a gpu file)");
    }
    cards[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return cards;
}

std::string commands_to_paste() {
  return fmt::format(
      "  {} > gpus.csv\n  {} > topo.txt\n  {} > p2p.txt\n  ({}) > cpu.txt\n\n"
      "and here:\n\n  paceline detect --from-nvidia-smi gpus.csv --from-topo topo.txt "
      "--from-p2p p2p.txt --from-lscpu cpu.txt --out cluster.json\n",
      hardware_profiles::gpu_query, hardware_profiles::topology_query,
      hardware_profiles::peer_query, hardware_profiles::host_query);
}

/// The texts that the options name; none if no option names any.
std::optional<MachineTexts> saved_texts(const Arguments& arguments) {
  auto gpus = from_option(arguments, "from-nvidia-smi");
  MachineTexts texts;
  texts.topology = from_option(arguments, "from-topo");
  texts.peers = from_option(arguments, "from-p2p");
  texts.host = from_option(arguments, "from-lscpu");
  if (gpus) {
    texts.gpus = std::move(*gpus);
    return texts;
  }
  if (texts.topology || texts.peers || texts.host) {
    throw core::UsageError(
        "paceline detect: --from-topo, --from-p2p and --from-lscpu need --from-nvidia-smi, which "
        "names the cards. On the machine:\n\n" +
        commands_to_paste());
  }
  return std::nullopt;
}

/// What the tools of this machine print; none without nvidia-smi. Throws `core::RunError` where it
/// is there and fails.
std::optional<MachineTexts> own_texts() {
  const auto asked = [](const char* command) -> std::optional<NamedText> {
    CommandResult result = result_of(command);
    if (result.code != 0) return std::nullopt;
    return NamedText{command, std::move(result.text)};
  };
  CommandResult gpus = result_of(hardware_profiles::gpu_query);
  if (gpus.code == exit_not_found) return std::nullopt;
  if (gpus.code != 0) {
    throw core::RunError(
        "nvidia-smi is here, but failed: " + gpus.text.substr(0, gpus.text.find('\n')) +
        " (load the driver; or give saved texts with --from-nvidia-smi)");
  }
  MachineTexts texts;
  texts.gpus = {hardware_profiles::gpu_query, std::move(gpus.text)};
  texts.topology = asked(hardware_profiles::topology_query);
  texts.peers = asked(hardware_profiles::peer_query);
  texts.host = asked(hardware_profiles::host_query);
  return texts;
}

DetectedCluster cluster_of_this_host(std::optional<double> copy_gb_per_s) {
  DetectedCluster found = hardware_profiles::detected_cpu_cluster(
      hardware_profiles::this_host(), hardware_profiles::usable_cores(), copy_gb_per_s);
  found.notes.insert(found.notes.begin(), "No nvidia-smi here, so this is the machine's CPU (" +
                                              hardware_profiles::host_reader() + ").");
  return found;
}

int detect(const Arguments& arguments, const Console& console) {
  const auto target = output_file(arguments, "out");
  const auto cards = cards_of(arguments);
  const std::string profiles = arguments.value("profiles").value_or("");
  auto texts = saved_texts(arguments);
  const bool is_here = !texts;
  if (!is_here && arguments.has("bench-host")) {
    throw core::UsageError(
        "paceline detect: --bench-host measures this machine, not the one of saved texts (leave "
        "one of them out)");
  }
  if (is_here) texts = own_texts();
  std::optional<double> copy_gb_per_s;
  if (arguments.has("bench-host")) copy_gb_per_s = hardware_profiles::measured_copy_gb_per_s();

  DetectedCluster found =
      texts ? detected_gpu_cluster(*texts, cards, profiles) : cluster_of_this_host(copy_gb_per_s);
  if (copy_gb_per_s) {
    found.notes.push_back(fmt::format(
        "Two cores copy {:.1f} GB/s each from the other's memory at once.", *copy_gb_per_s));
  }
  // Never hand out a file that cannot be read.
  static_cast<void>(hardware_profiles::read_cluster_text(found.text, "detected", profiles));

  std::string notes;
  for (const std::string& sentence : found.notes) notes += sentence + "\n";
  if (!texts)
    notes +=
        "\nA machine with GPUs is described by what it prints. There:\n\n" + commands_to_paste();
  if (!target || target->is_standard_output()) {
    console.write(found.text);
    console.out.flush();
    console.complain(notes);
    return 0;
  }
  target->write(found.text, console);
  const std::string name = arguments.value("out").value_or("");
  console.print(notes + fmt::format("\nWrote {}. Use it: --set cluster={}\n", name, name));
  return 0;
}

}  // namespace

Verb detect_verb() {
  return {
      .name = "detect",
      .summary = "this machine's GPUs, links and cores as a cluster file",
      .operands = "",
      .arity = {0, 0},
      .about =
          "Asks nvidia-smi, its topology matrices and lscpu, and writes what they say as a "
          "cluster file of one node; what they do not say is marked as assumed and told. "
          "Without nvidia-smi it describes the CPU, and prints the commands whose saved output "
          "describes another machine. No CUDA toolkit is needed. Idle links clock down: PCI "
          "Express generations are the maximum, lanes those in use.",
      .examples = {"paceline detect --out machine.json",
                   "paceline detect --from-nvidia-smi gpus.csv --from-topo topo.txt"},
      .options = {{"out", "FILE", "the cluster file to write; - is standard output, the default"},
                  {"from-nvidia-smi", "FILE", "saved output of nvidia-smi --query-gpu"},
                  {"from-topo", "FILE", "saved output of nvidia-smi topo -m"},
                  {"from-p2p", "FILE", "saved output of nvidia-smi topo -p2p r"},
                  {"from-lscpu", "FILE", "saved output of lscpu, with MemTotal if you like"},
                  {"card", "NAME=ID", "the gpu file that a name of nvidia-smi means", true},
                  {"bench-host", "", "measure how fast two cores copy from each other"},
                  {"profiles", "DIR", "look for gpu files there first"}},
      .run = detect};
}

}  // namespace paceline::cli
