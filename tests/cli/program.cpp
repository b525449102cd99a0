#include "program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "core/file.hpp"

namespace paceline::cli {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20;

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_of(const std::map<std::string, std::string>& added,
                                        const std::string& home) {
  std::map<std::string, std::string> variables{
      {"LC_ALL", "C.UTF-8"}, {"COLUMNS", "100"}, {"HOME", home}, {"PATH", "/usr/bin:/bin"}};
  for (const auto& [name, value] : added) variables[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : variables) list.push_back(name + "=" + value);
  return list;
}

}  // namespace

Workplace::Workplace() {
  std::string name = (std::filesystem::temp_directory_path() / "paceline_cli_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
  folder_ = name;
  std::filesystem::create_directory(folder_ / "work");
  program_ = PACELINE_PROGRAM;
}

Workplace::~Workplace() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Ran Workplace::run(const std::vector<std::string>& words,
                   const std::map<std::string, std::string>& environment) const {
  const std::string out = folder_.string() + "/.out";
  Ran ran = spawn(out, words, environment);
  ran.out = core::read_file(out, most_bytes);
  return ran;
}

Ran Workplace::run_into(const std::string& out, const std::vector<std::string>& words) const {
  return spawn(out, words, {});
}

Ran Workplace::spawn(const std::string& out, const std::vector<std::string>& words,
                     const std::map<std::string, std::string>& environment) const {
  std::vector<std::string> command{program_};
  command.insert(command.end(), words.begin(), words.end());
  std::vector<std::string> variables = environment_of(environment, (folder_ / "home").string());
  const std::string err = folder_.string() + "/.err";
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addchdir_np(&actions, (folder_ / "work").c_str());
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), flags, 0600);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags, 0600);
  pid_t child = 0;
  const int failure = ::posix_spawn(&child, program_.c_str(), &actions, nullptr,
                                    pointers_to(command).data(), pointers_to(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::system_error(failure, std::generic_category(), program_);
  int status = 0;
  ::waitpid(child, &status, 0);
  Ran ran;
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.err = core::read_file(err, most_bytes);
  return ran;
}

void Workplace::stand_in_for_runtime(int code) {
  const std::filesystem::path bin = folder_ / "work" / "bin";
  std::filesystem::create_directory(bin);
  std::filesystem::copy_file(PACELINE_PROGRAM, bin / "paceline",
                             std::filesystem::copy_options::overwrite_existing);
  program_ = (bin / "paceline").string();
  for (const std::string name : {"paceline-rt", "mpirun"}) {
    core::write_file_atomically(
        bin / name, "#!/bin/sh\necho " + name + " \"$@\"\nexit " + std::to_string(code) + "\n");
    std::filesystem::permissions(bin / name, std::filesystem::perms::owner_all);
  }
}

void Workplace::write(const std::string& name, const std::string& text) const {
  core::write_file_atomically(folder_ / "work" / name, text);
}

std::string Workplace::read(const std::string& name) const {
  return core::read_file(folder_ / "work" / name, most_bytes);
}

bool Workplace::has(const std::string& name) const {
  return std::filesystem::exists(folder_ / "work" / name);
}

std::vector<std::string> Workplace::files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "work")) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool is_quoted = false;
  bool has_word = false;
  for (const char c : line + " ") {
    if (c == '\'') {
      is_quoted = !is_quoted;
      has_word = true;
    } else if (c == ' ' && !is_quoted) {
      if (has_word) words.push_back(word);
      word.clear();
      has_word = false;
    } else {
      word += c;
      has_word = true;
    }
  }
  return words;
}

}  // namespace paceline::cli
