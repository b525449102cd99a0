#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace paceline::runtime {

/// "training [########------------]  40 %  400/1000 steps  100.0 steps/s  0:06 left" after
/// `elapsed_s` seconds; without a unit the counts and the rate are left out. Nothing is said about
/// the time left before anything is done.
[[nodiscard]] std::string progress_text(const std::string& what, double done, double all,
                                        double elapsed_s, const std::string& unit);

/// One line on a terminal that is written over, at most ten times a second; gone at the end.
/// Callers show none where standard error is not a terminal.
class ProgressBar {
 public:
  ProgressBar(std::ostream& out, std::string what, std::string unit);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  void show(double done, double all);
  /// Names what is done now; seen with the next `show`.
  void rename(std::string what);

 private:
  std::ostream& out_;
  std::string what_;
  std::string unit_;
  std::int64_t started_ns_;
  std::int64_t shown_ns_ = 0;
};

}  // namespace paceline::runtime
