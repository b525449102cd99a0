#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "cli/verb.hpp"
#include "core/error.hpp"
#include "models/experiment.hpp"

namespace paceline::cli {
namespace {

constexpr const char* runtime_name = "paceline-rt";

bool is_program(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

/// The runtime beside this program, else in PATH.
std::string find_runtime() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && is_program(self.parent_path() / runtime_name)) {
    return (self.parent_path() / runtime_name).string();
  }
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  std::string_view folders = path == nullptr ? std::string_view() : path;
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    const auto candidate = std::filesystem::path(folders.substr(0, end)) / runtime_name;
    if (end > 0 && is_program(candidate)) return candidate.string();
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  throw core::UsageError("paceline run: no " + std::string(runtime_name) + " beside " +
                         self.string() +
                         " and none in PATH (build the runtime, or add its folder to PATH)");
}

std::int64_t ranks_of(const std::string& text) {
  std::int64_t ranks = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, ranks);
  if (error != std::errc() || last != end || ranks < 1) {
    throw core::UsageError("paceline run: --ranks: got \"" + text +
                           "\" (must be a whole number >= 1)");
  }
  return ranks;
}

/// Takes `--ranks N` or `--ranks=N` out of what is passed on.
std::optional<std::int64_t> take_ranks(std::vector<std::string>& words) {
  std::optional<std::int64_t> ranks;
  const std::string joined = "--ranks=";
  for (auto word = words.begin(); word != words.end();) {
    if (word->starts_with(joined)) {
      ranks = ranks_of(word->substr(joined.size()));
      word = words.erase(word);
    } else if (*word == "--ranks") {
      if (word + 1 == words.end()) {
        throw core::UsageError("paceline run: --ranks needs a number (as --ranks 2)");
      }
      ranks = ranks_of(*(word + 1));
      word = words.erase(word, word + 2);
    } else {
      ++word;
    }
  }
  return ranks;
}

/// Open MPI refuses root unless these are set; who runs this program as root has decided already.
void allow_root_in_open_mpi() {
  if (::geteuid() != 0) return;
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}) {
    ::setenv(name, "1", 1);  // NOLINT(concurrency-mt-unsafe): one thread, about to be replaced
  }
}

[[noreturn]] void replace_process(std::vector<std::string> words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
  throw core::RunError("paceline run: " + words.front() + " cannot be started: " +
                       std::strerror(errno) + " (is it installed and in PATH?)");
}

int run(const Arguments& arguments, const Console& console) {
  std::vector<std::string> rest(arguments.positional.begin() + 1, arguments.positional.end());
  const std::string& path = arguments.positional.front();
  if (path.starts_with('-')) {
    throw core::UsageError("paceline run: got " + path +
                           " where the experiment stands (write paceline run EXPERIMENT …)");
  }
  const std::optional<std::int64_t> asked = take_ranks(rest);
  const std::int64_t world = models::read_experiment(path).parallel.world_size;
  if (asked && *asked != world) {
    throw core::ConfigError(path, "/parallel/world_size",
                            "got " + std::to_string(world) + " but --ranks is " +
                                std::to_string(*asked) + " (both must be the same)");
  }
  const std::string runtime = find_runtime();
  std::vector<std::string> words;
  if (world > 1) {
    words = {"mpirun", "--oversubscribe", "-n", std::to_string(world)};
    allow_root_in_open_mpi();
  }
  words.insert(words.end(), {runtime, "train", path});
  words.insert(words.end(), rest.begin(), rest.end());
  console.out.flush();
  replace_process(std::move(words));
}

}  // namespace

Verb run_verb() {
  return {.name = "run",
          .summary = "train for real: starts paceline-rt, through mpirun for several ranks",
          .operands = "EXPERIMENT [--ranks N] [OPTION OF paceline-rt train]…",
          .arity = {1},
          .about =
              "Replaces itself by `paceline-rt train EXPERIMENT …`, with `mpirun -n N` before "
              "it if the experiment's world_size is above 1. The runtime is looked for beside "
              "this program, then in PATH. Everything after EXPERIMENT but --ranks is passed "
              "on; --ranks states again how many ranks there are and must agree with the "
              "file.",
          .examples = {"paceline run experiment.json --json measured.json"},
          .options = {},
          .run = run,
          .passes_on = true};
}

}  // namespace paceline::cli
