#pragma once

#include <filesystem>
#include <string>

#include "core/file.hpp"
#include "core/report.hpp"

namespace paceline::validate {

/// A folder of reports that goes when the test ends.
class RunSetFolder {
 public:
  RunSetFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "paceline_runs_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
  }
  RunSetFolder(const RunSetFolder&) = delete;
  RunSetFolder& operator=(const RunSetFolder&) = delete;
  ~RunSetFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  void add(const std::string& name, const core::Report& report) const {
    core::write_file_atomically(path_ / name, core::report_text(report));
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace paceline::validate
