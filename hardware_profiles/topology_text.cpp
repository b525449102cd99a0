#include "hardware_profiles/topology_text.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>

#include "core/error.hpp"
#include "core/json.hpp"

namespace paceline::hardware_profiles {
namespace {

constexpr std::size_t most_devices = 1024;

[[noreturn]] void refuse(const NamedText& text, std::size_t line, const std::string& problem,
                         const std::string& command) {
  throw core::ConfigError(text.name, "",
                          (line == 0 ? "" : "line " + std::to_string(line) + ": ") + problem +
                              " (give the whole output of `" + command + "`)");
}

std::string quoted(const std::string& word) { return core::shown(core::Json(word)); }

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

/// Without the escape sequences that underline nvidia-smi's header.
std::string without_escapes(const std::string& line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      plain += line[i];
      continue;
    }
    while (i < line.size() && std::isalpha(static_cast<unsigned char>(line[i])) == 0) ++i;
  }
  return plain;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(without_escapes(line));
  return lines;
}

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = line.find(separator, start);
    parts.push_back(trimmed(std::string_view(line).substr(
        start, end == std::string::npos ? std::string::npos : end - start)));
    if (end == std::string::npos) return parts;
    start = end + 1;
  }
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// The number at the start of a text, as in "143771 MiB"; empty for "[N/A]".
template <class T>
std::optional<T> leading_number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

bool is_gpu(const std::string& name) {
  return name.starts_with("GPU") && name.size() > 3 &&
         std::all_of(name.begin() + 3, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether the column is one of the words after the devices: CPU Affinity, NUMA Affinity, …
bool ends_devices(const std::string& word) {
  return word == "CPU" || word == "NUMA" || word == "GPU" || word == "Affinity";
}

struct Header {
  std::size_t line = 0;  // index
  std::vector<std::string> devices;
};

Header find_header(const NamedText& text, const std::vector<std::string>& lines,
                   const char* command) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Header header{i, {}};
    for (const std::string& word : words_of(lines[i])) {
      if (ends_devices(word)) break;
      header.devices.push_back(word);
    }
    if (header.devices.empty() || header.devices.front() != "GPU0") continue;
    if (header.devices.size() > 1 && !is_gpu(header.devices[1]) &&
        (header.devices[1] == "X" || header.devices[1] == "OK")) {
      continue;  // a row of a single GPU
    }
    if (header.devices.size() > most_devices) {
      refuse(text, i + 1, "names more than 1024 devices", command);
    }
    return header;
  }
  refuse(text, 0, "has no header line with GPU0", command);
}

std::optional<Path> path_of(const std::string& word) {
  static const std::map<std::string, Proximity> words{
      {"X", Proximity::self},  {"PIX", Proximity::pix},   {"PXB", Proximity::pxb},
      {"PHB", Proximity::phb}, {"NODE", Proximity::node}, {"SYS", Proximity::sys},
      {"SOC", Proximity::sys}};  // SOC: before driver 384
  if (const auto found = words.find(word); found != words.end()) return Path{found->second, 0};
  if (!word.starts_with("NV")) return std::nullopt;
  const auto count = leading_number<int>(word.substr(2));
  if (!count || *count < 1 || *count > 64 || word != "NV" + std::to_string(*count)) {
    return std::nullopt;
  }
  return Path{Proximity::nvlink, *count};
}

/// The NUMA node that stands after the cells, where tabs tell the columns apart.
std::optional<int> numa_of(const std::string& line, const std::vector<std::string>& words,
                           std::size_t devices) {
  const std::vector<std::string> cells = split(line, '\t');
  if (cells.size() < devices + 3) return std::nullopt;
  for (std::size_t i = 0; i <= devices; ++i) {
    if (cells[i] != words[i]) return std::nullopt;  // tabs of a paste do not stand for columns
  }
  const auto number = leading_number<int>(cells[devices + 2]);
  if (!number || cells[devices + 2] != std::to_string(*number)) return std::nullopt;
  return number;
}

void check_symmetry(const NamedText& text, const TopologyMatrix& matrix) {
  for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (matrix.paths[i][j] == matrix.paths[j][i]) continue;
      refuse(text, 0,
             "the ways " + matrix.devices[i] + " to " + matrix.devices[j] +
                 " and back differ, which no machine has",
             topology_query);
    }
  }
}

}  // namespace

std::vector<GpuRow> read_gpu_rows(const NamedText& csv) {
  const std::vector<std::string> lines = lines_of(csv.text);
  std::size_t header = 0;
  while (header < lines.size() && lines[header].find("name") == std::string::npos) ++header;
  if (header == lines.size()) refuse(csv, 0, "has no header line with name", gpu_query);
  std::map<std::string, std::size_t> column;
  const std::vector<std::string> names = split(lines[header], ',');
  for (std::size_t i = 0; i < names.size(); ++i) {
    column[names[i].substr(0, names[i].find(' '))] = i;  // "memory.total [MiB]"
  }
  for (const char* needed : {"name", "memory.total"}) {
    if (!column.contains(needed)) {
      refuse(csv, header + 1, std::string("has no column ") + needed, gpu_query);
    }
  }
  std::vector<GpuRow> rows;
  for (std::size_t i = header + 1; i < lines.size(); ++i) {
    if (trimmed(lines[i]).empty()) continue;
    const std::vector<std::string> cells = split(lines[i], ',');
    if (cells.size() != names.size()) {
      refuse(csv, i + 1,
             "has " + std::to_string(cells.size()) + " columns, but the header has " +
                 std::to_string(names.size()),
             gpu_query);
    }
    const auto cell = [&](const char* name) {
      const auto found = column.find(name);
      return found == column.end() ? std::string() : cells[found->second];
    };
    GpuRow row;
    row.index = leading_number<int>(cell("index")).value_or(static_cast<int>(rows.size()));
    row.name = cell("name");
    const std::string memory = cell("memory.total");
    if (const auto mib = leading_number<double>(memory)) {
      if (!memory.ends_with("MiB")) {
        refuse(csv, i + 1, "got memory " + quoted(memory) + " (must be in MiB)", gpu_query);
      }
      row.memory_gib = *mib / 1024;
    }
    row.uuid = cell("uuid");
    row.pcie_generation = {leading_number<int>(cell("pcie.link.gen.max")),
                           leading_number<int>(cell("pcie.link.gen.current"))};
    row.pcie_lanes = {leading_number<int>(cell("pcie.link.width.max")),
                      leading_number<int>(cell("pcie.link.width.current"))};
    rows.push_back(std::move(row));
  }
  if (rows.empty()) refuse(csv, 0, "lists no GPU", gpu_query);
  std::sort(rows.begin(), rows.end(),
            [](const GpuRow& a, const GpuRow& b) { return a.index < b.index; });
  return rows;
}

TopologyMatrix read_topology(const NamedText& text) {
  const std::vector<std::string> lines = lines_of(text.text);
  const Header header = find_header(text, lines, topology_query);
  TopologyMatrix matrix;
  matrix.devices = header.devices;
  const std::size_t count = matrix.devices.size();
  matrix.paths.resize(count);
  matrix.numa_node.resize(count);
  while (matrix.gpus < count && is_gpu(matrix.devices[matrix.gpus])) ++matrix.gpus;
  for (std::size_t l = header.line + 1; l < lines.size(); ++l) {
    const std::vector<std::string> words = words_of(lines[l]);
    if (words.empty() || words.back() == "=") continue;
    const auto found = std::find(matrix.devices.begin(), matrix.devices.end(), words.front());
    if (found == matrix.devices.end()) continue;  // the legend
    const auto row = static_cast<std::size_t>(found - matrix.devices.begin());
    if (!matrix.paths[row].empty()) refuse(text, l + 1, *found + " stands twice", topology_query);
    if (words.size() < count + 1) {
      refuse(text, l + 1,
             "has " + std::to_string(words.size() - 1) + " cells for " + std::to_string(count) +
                 " devices",
             topology_query);
    }
    for (std::size_t i = 1; i <= count; ++i) {
      const auto path = path_of(words[i]);
      if (!path || (path->proximity == Proximity::self) != (i - 1 == row)) {
        refuse(text, l + 1,
               "got " + quoted(words[i]) + " between " + *found + " and " + matrix.devices[i - 1] +
                   " (must be " + (i - 1 == row ? "X" : "NV#, PIX, PXB, PHB, NODE or SYS") + ")",
               topology_query);
      }
      matrix.paths[row].push_back(*path);
    }
    matrix.numa_node[row] = numa_of(lines[l], words, count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (matrix.paths[i].empty()) {
      refuse(text, 0, "the row of " + matrix.devices[i] + " is missing", topology_query);
    }
  }
  check_symmetry(text, matrix);
  return matrix;
}

std::vector<std::vector<bool>> read_peer_matrix(const NamedText& text) {
  const std::vector<std::string> lines = lines_of(text.text);
  const Header header = find_header(text, lines, peer_query);
  const std::size_t count = header.devices.size();
  std::vector<std::vector<bool>> peers(count);
  for (std::size_t l = header.line + 1; l < lines.size(); ++l) {
    const std::vector<std::string> words = words_of(lines[l]);
    if (words.empty()) continue;
    const auto found = std::find(header.devices.begin(), header.devices.end(), words.front());
    if (found == header.devices.end()) continue;
    if (words.size() != count + 1) {
      refuse(text, l + 1,
             "has " + std::to_string(words.size() - 1) + " cells for " + std::to_string(count) +
                 " devices",
             peer_query);
    }
    auto& row = peers[static_cast<std::size_t>(found - header.devices.begin())];
    for (std::size_t i = 1; i <= count; ++i) row.push_back(words[i] == "OK" || words[i] == "X");
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (peers[i].size() != count) {
      refuse(text, 0, "the row of " + header.devices[i] + " is missing or stands twice",
             peer_query);
    }
  }
  return peers;
}

HostCpu read_lscpu(const NamedText& text) {
  std::map<std::string, std::string> values;
  for (const std::string& line : lines_of(text.text)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    values.emplace(trimmed(std::string_view(line).substr(0, colon)),
                   trimmed(std::string_view(line).substr(colon + 1)));
  }
  const auto number = [&](const char* key) -> std::optional<std::int64_t> {
    const auto found = values.find(key);
    if (found == values.end()) return std::nullopt;
    return leading_number<std::int64_t>(found->second);
  };
  const auto logical = number("CPU(s)");
  if (!logical || *logical < 1) refuse(text, 0, "has no line \"CPU(s):\"", host_query);
  HostCpu cpu;
  cpu.model = values.contains("Model name") ? values["Model name"] : "CPU";
  cpu.sockets = std::max<std::int64_t>(number("Socket(s)").value_or(1), 1);
  const std::int64_t threads = std::max<std::int64_t>(number("Thread(s) per core").value_or(1), 1);
  // Boards with clusters of cores print "-" for sockets and no cores per socket.
  cpu.cores_per_socket = std::max<std::int64_t>(
      number("Core(s) per socket").value_or(*logical / threads / cpu.sockets), 1);
  if (const auto kib = number("MemTotal")) cpu.memory_gib = static_cast<double>(*kib) / (1 << 20);
  return cpu;
}

}  // namespace paceline::hardware_profiles
