#include "hardware_profiles/lookup.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include "core/json.hpp"
#include "core/share_directory.hpp"

namespace paceline::hardware_profiles {
namespace {

std::string text_of(const core::Json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_plain_id(std::string_view id) {
  return !id.empty() && id.find('/') == std::string_view::npos && id.front() != '.';
}

std::vector<std::filesystem::path> json_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    if (file->path().extension() == ".json") files.push_back(file->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::filesystem::path> folders_of(std::string_view folder, std::string_view profiles) {
  std::vector<std::filesystem::path> folders;
  for (const auto& directory : core::profile_directories(profiles)) {
    folders.push_back(directory / folder);
    if (folder == "clusters") folders.push_back(directory);
  }
  return folders;
}

std::vector<ProfileEntry> list_profiles(std::string_view folder, std::string_view kind,
                                        std::string_view profiles) {
  const std::string schema = "paceline/" + std::string(kind) + "/1";
  std::vector<ProfileEntry> entries;
  std::set<std::string> ids;
  for (const auto& directory : folders_of(folder, profiles)) {
    const bool own_folder = directory.filename() == folder;
    for (const auto& path : json_files(directory)) {
      ProfileEntry entry{path.stem().string(), {}, path, {}};
      core::Faults faults;
      const auto document = core::read_json_file(path, core::Cursor(path.string(), faults));
      if (!faults.empty()) {
        entry.problem = faults.list().front().text();
      } else if (const std::string stands = text_of(document, "schema"); stands != schema) {
        // Other kinds may lie beside; only a file that claims no kind at all is worth a word.
        if (!own_folder || !stands.empty()) continue;
        entry.problem = path.string() + ": the key \"schema\" is missing (it is required)";
      } else {
        entry.name = text_of(document, "name");
      }
      if (!entry.problem.empty() && !own_folder) continue;
      if (ids.insert(entry.id).second) entries.push_back(std::move(entry));
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const ProfileEntry& a, const ProfileEntry& b) { return a.id < b.id; });
  return entries;
}

std::optional<std::filesystem::path> find_profile(std::string_view folder, std::string_view id,
                                                  std::string_view profiles) {
  if (!is_plain_id(id)) return std::nullopt;
  for (const auto& directory : folders_of(folder, profiles)) {
    auto path = directory / (std::string(id) + ".json");
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
  }
  return std::nullopt;
}

std::string not_found_text(std::string_view folder, std::string_view kind, std::string_view id,
                           std::string_view profiles) {
  std::string text = "no " + std::string(kind) + " \"" + std::string(id) + "\" (searched ";
  bool first = true;
  for (const auto& directory : folders_of(folder, profiles)) {
    text += (first ? "" : ", ") + directory.string();
    first = false;
  }
  text += ")";
  std::vector<std::string> ids;
  for (const ProfileEntry& entry : list_profiles(folder, kind, profiles)) ids.push_back(entry.id);
  const std::string near = core::nearest(id, ids);
  if (!near.empty()) text += "; did you mean \"" + near + "\"?";
  return text;
}

}  // namespace paceline::hardware_profiles
