#include "hardware_profiles/nccl_tests_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "core/error.hpp"
#include "hardware_profiles/cluster_file.hpp"

namespace paceline::hardware_profiles {
namespace {

using core::CollectiveKind;

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

template <class T>
std::optional<T> number(const std::string& word) {
  T value{};
  const char* end = word.data() + word.size();
  const auto [last, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || last != end) return std::nullopt;
  return value;
}

/// The collective whose program is called so: "all_reduce_perf", "alltoall_perf".
std::optional<CollectiveKind> kind_of_program(const std::string& program) {
  std::string name = program.substr(0, program.find("_perf"));
  if (name == "alltoall") name = "all_to_all";
  if (name == "sendrecv") name = "point_to_point";
  for (std::size_t i = 0; i < core::count_of<CollectiveKind>; ++i) {
    if (core::spelling(static_cast<CollectiveKind>(i)) == name)
      return static_cast<CollectiveKind>(i);
  }
  return std::nullopt;
}

/// A row of the table: one size.
struct Row {
  std::size_t line = 0;
  std::int64_t bytes = 0;
  double time_us = 0;
  double algbw = 0;
  double busbw = 0;
};

class LogReader {
 public:
  explicit LogReader(const NamedText& log) : log_(log) {}
  NcclTestsLog read(std::optional<CollectiveKind> kind);

 private:
  [[noreturn]] void refuse(std::size_t line, const std::string& problem) const {
    throw core::ConfigError(log_.name, "",
                            (line == 0 ? "" : fmt::format("line {}: ", line)) + problem);
  }
  void read_comment(std::size_t line, const std::vector<std::string>& words);
  void read_row(std::size_t line, const std::vector<std::string>& words);
  [[nodiscard]] CollectiveKind kind_of(std::optional<CollectiveKind> given) const;
  void check_factor(CollectiveKind kind) const;

  const NamedText& log_;
  std::set<std::string> hosts_;
  std::set<std::int64_t> ranks_;
  std::string gpu_;
  std::optional<std::string> program_;
  std::size_t time_column_ = 0;  // of the first time; 0 before the header
  std::size_t columns_ = 0;
  std::vector<Row> rows_;
};

/// "# Rank 0 Group 0 Pid 4 on host device 0 [0x07] NVIDIA A100", and the header of the table.
void LogReader::read_comment(std::size_t line, const std::vector<std::string>& words) {
  const auto after = [&](const char* word) -> std::optional<std::string> {
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end() || found + 1 == words.end()) return std::nullopt;
    return *(found + 1);
  };
  if (words.size() > 2 && words[1] == "Rank") {
    const auto rank = number<std::int64_t>(words[2]);
    const auto host = after("on");
    if (!rank || !host) refuse(line, "is no \"Rank … on HOST\" line of nccl-tests");
    ranks_.insert(*rank);
    hosts_.insert(*host);
    const auto device = std::find(words.begin(), words.end(), "device");
    if (gpu_.empty() && words.end() - device > 3) {
      for (auto word = device + 3; word != words.end(); ++word) {
        gpu_ += (gpu_.empty() ? "" : " ") + *word;
      }
    }
  }
  for (const std::string& word : words) {
    if (word.ends_with("_perf")) program_ = word.substr(word.rfind('/') + 1);
  }
  if (words.size() > 3 && words[1] == "size" && words[2] == "count") {
    const auto time = std::find(words.begin(), words.end(), "time");
    if (time == words.end()) refuse(line, "has no column time");
    time_column_ = static_cast<std::size_t>(time - words.begin()) - 1;  // rows have no "#"
    columns_ = words.size() - 1;
  }
  const bool is_units = words.size() > 2 && words[1] == "(B)";
  if (is_units && std::find(words.begin(), words.end(), "(us)") == words.end()) {
    refuse(line, "states times in another unit than (us), which nccl-tests does not");
  }
}

void LogReader::read_row(std::size_t line, const std::vector<std::string>& words) {
  const auto bytes = number<std::int64_t>(words[0]);
  if (!bytes || words.size() < 4 || !number<std::int64_t>(words[1])) return;  // of another program
  if (time_column_ == 0) refuse(line, "stands before the table's header (give the whole log)");
  if (words.size() < columns_) {
    refuse(line, fmt::format("has {} columns, but the header has {} (the log is cut)", words.size(),
                             columns_));
  }
  Row row{line, *bytes, 0, 0, 0};
  const auto time = number<double>(words[time_column_]);
  const auto algbw = number<double>(words[time_column_ + 1]);
  const auto busbw = number<double>(words[time_column_ + 2]);
  if (!time || !algbw || !busbw)
    refuse(line, "has no numbers where the header says time and algbw");
  const auto wrong = number<double>(words[time_column_ + 3]);  // N/A without checking
  if (wrong && *wrong > 0) {
    refuse(line, fmt::format("has {} wrong values (find out why before anything is fitted to it)",
                             words[time_column_ + 3]));
  }
  if (*bytes == 0) return;  // a size below one element for each rank
  if (*time <= 0)
    refuse(line, fmt::format("got a time of {} us (must be > 0)", words[time_column_]));
  row.time_us = *time;
  row.algbw = *algbw;
  row.busbw = *busbw;
  const double expected = static_cast<double>(*bytes) / (*time * 1e3);
  // Three significant digits of the time, two decimals of the rate.
  constexpr double rounding = 0.02;
  constexpr double last_digit = 0.0101;
  if (std::abs(row.algbw - expected) > rounding * expected + last_digit) {
    refuse(line,
           fmt::format("has algbw {} GB/s, but bytes / time is {:.2f} (this is not nccl-tests' "
                       "convention: other tools count other bytes)",
                       words[time_column_ + 1], expected));
  }
  rows_.push_back(row);
}

CollectiveKind LogReader::kind_of(std::optional<CollectiveKind> given) const {
  if (given) return *given;
  std::string known;
  for (const char* word : core::Spelling<CollectiveKind>::words) {
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  if (program_) {
    if (const auto kind = kind_of_program(*program_)) return *kind;
    refuse(0, fmt::format("is of {}, which is no collective of Paceline's (one of {})", *program_,
                          known));
  }
  const auto ranks = static_cast<int>(ranks_.size());
  const Row& largest = *std::max_element(
      rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.algbw < b.algbw; });
  const double factor = busbw_factor(CollectiveKind::all_reduce, ranks);
  constexpr double tolerance = 0.02;
  if (ranks > 2 && std::abs(largest.busbw / largest.algbw / factor - 1) < tolerance) {
    return CollectiveKind::all_reduce;
  }
  refuse(0, "does not say which collective it is (give --collective, one of " + known + ")");
}

void LogReader::check_factor(CollectiveKind kind) const {
  const auto ranks = static_cast<int>(ranks_.size());
  const double factor = busbw_factor(kind, ranks);
  constexpr double rounding = 0.02;
  constexpr double last_digit = 0.0101;
  for (const Row& row : rows_) {
    if (std::abs(row.busbw - factor * row.algbw) <= rounding * row.busbw + 3 * last_digit) continue;
    refuse(row.line,
           fmt::format("has busbw {} and algbw {}: the factor of {} over {} ranks is {:.3g} "
                       "(is it another collective? give --collective)",
                       row.busbw, row.algbw, core::spelling(kind), ranks, factor));
  }
}

NcclTestsLog LogReader::read(std::optional<CollectiveKind> kind) {
  std::istringstream stream(log_.text);
  std::size_t count = 0;
  for (std::string line; std::getline(stream, line);) {
    ++count;
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "#") {
      read_comment(count, words);
    } else {
      read_row(count, words);
    }
  }
  if (rows_.empty()) refuse(0, "holds no table of nccl-tests (give the whole log)");
  if (ranks_.empty()) {
    refuse(0,
           "has no \"Rank … on HOST\" lines, so nobody knows over how many ranks it ran (give the "
           "whole log)");
  }
  if (ranks_.size() < 2) {
    refuse(0,
           "is of one rank alone, which measures no communication (nccl-tests without MPI, or "
           "started without mpirun, prints one such table for each process)");
  }
  NcclTestsLog result;
  result.gpu = gpu_;
  result.table.kind = kind_of(kind);
  result.table.ranks = static_cast<int>(ranks_.size());
  result.table.nodes = static_cast<int>(hosts_.size());
  check_factor(result.table.kind);
  std::map<std::int64_t, std::vector<double>> times;
  for (const Row& row : rows_) {
    times[row.bytes].push_back(row.time_us);
    result.best_busbw_gb_per_s = std::max(result.best_busbw_gb_per_s, row.busbw);
  }
  for (auto& [bytes, of_size] : times) {
    const auto middle = of_size.begin() + static_cast<std::ptrdiff_t>(of_size.size() / 2);
    std::nth_element(of_size.begin(), middle, of_size.end());
    result.table.points.push_back({core::Bytes(bytes), *middle});
  }
  return result;
}

}  // namespace

double busbw_factor(CollectiveKind kind, int ranks) {
  const std::string_view name = core::spelling(kind);
  const double n = ranks;
  if (name == "all_reduce") return 2 * (n - 1) / n;
  return name == "broadcast" || name == "point_to_point" ? 1 : (n - 1) / n;
}

NcclTestsLog read_nccl_tests(const NamedText& log, std::optional<CollectiveKind> kind) {
  return LogReader(log).read(kind);
}

std::string cluster_with(const MeasuredCollective& table, const std::string& title,
                         const NamedText& cluster, std::string_view profiles) {
  // All faults of the file first, those of its nodes and cards too.
  const Cluster built = read_cluster_text(cluster.text, cluster.name, profiles);
  if (static_cast<std::size_t>(table.ranks) > built.slots.size() ||
      static_cast<std::size_t>(table.nodes) > built.kind_of_node.size()) {
    throw core::ConfigError(
        cluster.name, "/nodes",
        fmt::format("have {} slots on {} nodes, but the table is of {} ranks on {} (import it into "
                    "the cluster that it was measured on)",
                    built.slots.size(), built.kind_of_node.size(), table.ranks, table.nodes));
  }
  auto file = core::from_text(cluster.text, cluster_fields(), cluster.name);
  auto& sources = file.sources ? *file.sources : file.sources.emplace();
  MeasuredCollective added = table;
  added.source = fmt::format("nccl_tests_{}_{}_ranks_{}_nodes", core::spelling(table.kind),
                             table.ranks, table.nodes);
  sources[added.source] = {title, Certainty::measured};
  auto& tables =
      file.measured_collectives ? *file.measured_collectives : file.measured_collectives.emplace();
  std::erase_if(tables, [&](const MeasuredCollective& other) {
    return other.kind == table.kind && other.ranks == table.ranks && other.nodes == table.nodes;
  });
  tables.push_back(std::move(added));
  std::string text = core::to_text(cluster_fields().write(file));
  static_cast<void>(read_cluster_text(text, cluster.name, profiles));
  return text;
}

}  // namespace paceline::hardware_profiles
