#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace paceline::test {

/// What a made-up log of nccl-tests says.
struct LogOfNccl {
  std::string program = "all_reduce_perf";  // empty: an old version, which does not name itself
  int ranks = 4;
  int ranks_per_host = 4;
  double factor = 1.5;  // busbw / algbw; 2·3/4 for an all-reduce over four
  std::vector<std::pair<long, double>> rows{{8, 20.0}, {1048576, 100.0}, {1073741824, 10000.0}};
  std::string wrong = "0";
};

/// The log as nccl-tests prints it: comments, header, units, rows with times out of place and in
/// place, tail.
inline std::string nccl_log(const LogOfNccl& log) {
  std::string text = "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor)\n#\n";
  if (!log.program.empty()) text += "# Collective test starting: " + log.program + "\n";
  text += "# Using devices\n";
  for (int rank = 0; rank < log.ranks; ++rank) {
    text += "#  Rank  " + std::to_string(rank) + " Group  0 Pid  " + std::to_string(900 + rank) +
            " on  node" + std::to_string(rank / log.ranks_per_host) + " device  " +
            std::to_string(rank % log.ranks_per_host) + " [0x07] NVIDIA A100-SXM4-80GB\n";
  }
  text +=
      "#\n#                                                     out-of-place               "
      "in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
      "(us)  (GB/s)  (GB/s)\n";
  for (const auto& [bytes, time] : log.rows) {
    const double algbw = static_cast<double>(bytes) / (time * 1e3);
    char row[256];
    std::snprintf(
        row, sizeof row,
        "%12ld %13ld     float     sum      -1  %8.2f  %6.2f  %6.2f      %s  %8.2f  %6.2f  "
        "%6.2f      0\n",
        bytes, bytes / 4, time, algbw, algbw * log.factor, log.wrong.c_str(), time, algbw,
        algbw * log.factor);
    text += row;
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 64.2\n#\n";
}

}  // namespace paceline::test
