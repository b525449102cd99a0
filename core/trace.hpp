#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/vocabulary.hpp"

/// A training step on a time axis, as Chrome's trace viewer and Perfetto open it. Names, categories
/// and keys follow PyTorch's profiler (Kineto), so that predicted and measured steps overlay.
namespace paceline::core {

enum class TraceCategory : std::uint8_t {
  kernel,          // an operation on its stream
  user_annotation  // a span around or between operations: a step, a wait, part of a collective
};
template <>
struct Spelling<TraceCategory> {
  static constexpr std::array words{"kernel", "user_annotation"};
};

/// A span of time ("complete event", ph X). Spans of one rank and stream nest or are disjoint.
struct TraceEvent {
  std::string name;  // for operations: their name in the Program
  TraceCategory category = TraceCategory::kernel;
  int rank = 0;                     // pid
  Stream stream = Stream::compute;  // tid
  double start_us = 0;
  double duration_us = 0;
  std::map<std::string, std::string> args;
};

struct TraceRank {
  int rank = 0;
  std::string name;  // of its device
};

struct Trace {
  std::string backend;  // how ranks talk: "mpi", "none" for one rank
  int world_size = 1;
  std::vector<TraceRank> ranks;  // those that have events
  std::vector<TraceEvent> events;
};

/// JSON text: `schemaVersion`, `displayTimeUnit`, `distributedInfo`, and `traceEvents` with first
/// the names of ranks and streams (ph M), then the events in the order given, one a line.
[[nodiscard]] std::string trace_text(const Trace& trace);

/// Reads what `trace_text` writes. Throws `ConfigError` with every fault.
[[nodiscard]] Trace read_trace(const std::filesystem::path& path);
/// JSON Schema of it.
[[nodiscard]] std::string trace_schema();

}  // namespace paceline::core
