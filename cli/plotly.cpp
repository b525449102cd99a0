#include "cli/plotly.hpp"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/share_directory.hpp"

namespace paceline::cli {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr auto script_name = "plotly.min.js";

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? std::string() : std::string(value);
}

/// `package_data` of Python's plotly under each `python3*` of a library folder.
void add_python_places(const std::filesystem::path& libraries,
                       std::vector<std::filesystem::path>& places) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator folder(libraries, error), end; !error && folder != end;
       folder.increment(error)) {
    if (!folder->path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      found.push_back(folder->path() / packages / "plotly" / "package_data" / script_name);
    }
  }
  std::sort(found.begin(), found.end());
  places.insert(places.end(), found.begin(), found.end());
}

/// "3.0.1" of " * plotly.js v3.0.1".
std::string version_of(const std::string& script) {
  const std::string mark = "plotly.js v";
  const std::string head = script.substr(0, 1024);
  const std::size_t start = head.find(mark);
  if (start == std::string::npos) return "of unknown version";
  const std::size_t first = start + mark.size();
  return head.substr(first, head.find_first_not_of("0123456789.-abcr", first) - first);
}

std::string licence_beside(const std::filesystem::path& script) {
  for (const char* name : {"plotly.LICENSE.txt", "LICENSE", "LICENSE.txt"}) {
    std::error_code error;
    const auto path = script.parent_path() / name;
    if (std::filesystem::is_regular_file(path, error)) return core::read_file(path, most_bytes);
  }
  return "MIT licence, as its first lines say";
}

}  // namespace

std::vector<std::filesystem::path> plotly_places() {
  std::vector<std::filesystem::path> places;
  if (const auto file = environment("PACELINE_PLOTLY_JS"); !file.empty()) places.emplace_back(file);
  const std::string home = environment("HOME");
  if (const auto data = environment("XDG_DATA_HOME"); !data.empty()) {
    places.push_back(std::filesystem::path(data) / "paceline" / "plotly" / script_name);
  } else if (!home.empty()) {
    places.push_back(std::filesystem::path(home) / ".local/share/paceline/plotly" / script_name);
  }
  places.push_back(core::share_directory() / "plotly" / script_name);
  places.push_back(std::filesystem::path("/usr/share/javascript/plotly") / script_name);
  places.push_back(std::filesystem::path("/usr/share/nodejs/plotly.js/dist") / script_name);
  if (!home.empty()) add_python_places(std::filesystem::path(home) / ".local/lib", places);
  add_python_places("/usr/local/lib", places);
  add_python_places("/usr/lib", places);
  return places;
}

Plotly find_plotly() {
  std::string searched;
  for (const auto& path : plotly_places()) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
      searched += "\n  " + path.string();
      continue;
    }
    Plotly plotly;
    plotly.script = core::read_file(path, most_bytes);
    plotly.version = version_of(plotly.script);
    plotly.licence = licence_beside(path);
    return plotly;
  }
  throw core::UsageError(
      "an HTML report needs plotly.js, which is not installed (run scripts/install.sh html, or "
      "name "
      "a plotly.min.js in PACELINE_PLOTLY_JS). Searched:" +
      searched);
}

}  // namespace paceline::cli
