#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "models/program.hpp"

namespace paceline::runtime {

/// What each rank of this host is doing, in memory that they share, so that a survivor can say who
/// died, who lags, and in which operation. Writing costs two stores.
class StatusBoard {
 public:
  /// Rank 0 creates the file; the others map it after `path` was broadcast. The file has no name
  /// any more once all ranks have mapped it (`unlink`).
  static std::string create(int ranks);
  StatusBoard(const std::string& path, int rank, int ranks);
  StatusBoard(const StatusBoard&) = delete;
  StatusBoard& operator=(const StatusBoard&) = delete;
  ~StatusBoard();

  static void unlink(const std::string& path);

  struct Entry {
    std::atomic<std::int64_t> process{0};
    std::atomic<std::int64_t> step{-1};
    /// Index in the Program's operations; -1 outside a step.
    std::atomic<std::int64_t> operation{-1};
    /// Steady clock, nanoseconds, of the last change.
    std::atomic<std::int64_t> changed_ns{0};
    std::atomic<std::int64_t> finished{0};
  };

  void enter(std::int64_t step, std::int64_t operation);
  void finish();
  [[nodiscard]] const Entry& entry(int rank) const;
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int rank() const { return rank_; }
  /// True if the rank's process has ended without `finish` (or is a zombie).
  [[nodiscard]] bool died(int rank) const;
  /// True if the rank's process was stopped by a signal.
  [[nodiscard]] bool stopped(int rank) const;
  [[nodiscard]] double idle_seconds(int rank) const;

 private:
  int rank_;
  int ranks_;
  Entry* entries_ = nullptr;
};

/// Ends this process with exit code 1 and one clear message when a rank died or none has moved for
/// the deadline; launchers then end the others. Takes SIGTERM, which a launcher sends to the
/// survivors, to say why.
class Watchdog {
 public:
  /// `operation_name` turns a board entry's operation into its name. Blocks SIGTERM in the calling
  /// thread (and those that it starts later).
  Watchdog(const StatusBoard& board, std::function<std::string(int, std::int64_t)> operation_name);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  /// No rank may stay in one operation longer than this.
  void set_deadline(std::chrono::duration<double> deadline);

 private:
  void watch();
  void report_and_exit(const std::string& reason) const;
  [[nodiscard]] std::string doing(int rank) const;
  [[nodiscard]] std::string place(int rank) const;
  [[nodiscard]] int furthest_behind() const;

  const StatusBoard& board_;
  std::function<std::string(int, std::int64_t)> operation_name_;
  std::atomic<double> deadline_seconds_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace paceline::runtime
