#include "runtime/comm/status_board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <new>
#include <tuple>

#include "core/error.hpp"
#include "runtime/measure/clock.hpp"

namespace paceline::runtime {
namespace {

core::RunError failed(const std::string& what) {
  return core::RunError(what + ": " + std::strerror(errno) + " (check that /dev/shm is writable)");
}

/// The state letter of /proc/PID/stat: R running, S sleeping, T stopped, Z ended but not collected
/// by its parent, and so on; a blank if there is no such process here.
char process_state(std::int64_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(stat, text);
  const auto end_of_name = text.rfind(')');
  const bool has_state = end_of_name != std::string::npos && text.size() > end_of_name + 2;
  return has_state ? text[end_of_name + 2] : ' ';
}

}  // namespace

std::string StatusBoard::create(int ranks) {
  std::string path = "/dev/shm/paceline-XXXXXX";
  const int descriptor = ::mkstemp(path.data());
  if (descriptor < 0) throw failed("cannot make a status board");
  const auto size = static_cast<off_t>(sizeof(Entry) * static_cast<std::size_t>(ranks));
  const bool sized = ::ftruncate(descriptor, size) == 0;
  ::close(descriptor);
  if (!sized) throw failed("cannot size the status board");
  return path;
}

StatusBoard::StatusBoard(const std::string& path, int rank, int ranks)
    : rank_(rank), ranks_(ranks) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) throw failed("cannot open the status board " + path);
  const std::size_t size = sizeof(Entry) * static_cast<std::size_t>(ranks);
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  if (memory == MAP_FAILED) throw failed("cannot map the status board");
  entries_ = static_cast<Entry*>(memory);
  new (&entries_[rank_]) Entry;
  entries_[rank_].changed_ns = now_ns();
  entries_[rank_].process = ::getpid();
}

StatusBoard::~StatusBoard() {
  ::munmap(entries_, sizeof(Entry) * static_cast<std::size_t>(ranks_));
}

void StatusBoard::unlink(const std::string& path) { ::unlink(path.c_str()); }

void StatusBoard::enter(std::int64_t step, std::int64_t operation) {
  Entry& mine = entries_[rank_];
  mine.step.store(step, std::memory_order_relaxed);
  mine.operation.store(operation, std::memory_order_relaxed);
  mine.changed_ns.store(now_ns(), std::memory_order_relaxed);
}

void StatusBoard::finish() { entries_[rank_].finished = 1; }

const StatusBoard::Entry& StatusBoard::entry(int rank) const {
  if (rank < 0 || rank >= ranks_) {
    throw core::InvariantError("rank " + std::to_string(rank) + " of " + std::to_string(ranks_));
  }
  return entries_[rank];
}

bool StatusBoard::died(int rank) const {
  const Entry& other = entry(rank);
  const std::int64_t process = other.process;
  if (process == 0 || other.finished != 0) return false;
  const bool gone = ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
  return gone || process_state(process) == 'Z';
}

bool StatusBoard::stopped(int rank) const { return process_state(entry(rank).process) == 'T'; }

double StatusBoard::idle_seconds(int rank) const {
  return static_cast<double>(now_ns() - entry(rank).changed_ns) * 1e-9;
}

namespace {
constexpr double start_deadline_seconds = 120.0;
constexpr auto watch_interval = std::chrono::milliseconds(50);
}  // namespace

Watchdog::Watchdog(const StatusBoard& board,
                   std::function<std::string(int, std::int64_t)> operation_name)
    : board_(board),
      operation_name_(std::move(operation_name)),
      deadline_seconds_(start_deadline_seconds) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  stop_ = true;
  thread_.join();
}

void Watchdog::set_deadline(std::chrono::duration<double> deadline) {
  deadline_seconds_ = deadline.count();
}

std::string Watchdog::doing(int rank) const {
  const StatusBoard::Entry& entry = board_.entry(rank);
  if (entry.process == 0) return "before it had started";
  if (entry.step < 0) return "before the first step";
  if (board_.stopped(rank)) return "stopped (SIGSTOP) " + place(rank);
  return place(rank);
}

std::string Watchdog::place(int rank) const {
  const StatusBoard::Entry& entry = board_.entry(rank);
  return "in step " + std::to_string(entry.step) + ", operation " +
         operation_name_(rank, entry.operation);
}

void Watchdog::report_and_exit(const std::string& reason) const {
  const std::string text = "paceline-rt: rank " + std::to_string(board_.rank()) + ": " + reason +
                           "; the run ends, nothing was written\n";
  const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);  // nowhere left to complain
  ::_exit(1);
}

int Watchdog::furthest_behind() const {
  const auto progress = [this](int rank) {
    const StatusBoard::Entry& entry = board_.entry(rank);
    return std::tuple(!board_.stopped(rank), entry.finished.load(), entry.step.load(),
                      entry.operation.load(), -board_.idle_seconds(rank));
  };
  int behind = 0;
  for (int rank = 1; rank < board_.ranks(); ++rank) {
    if (progress(rank) < progress(behind)) behind = rank;
  }
  return behind;
}

void Watchdog::watch() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  const timespec interval{0, std::chrono::nanoseconds(watch_interval).count()};
  while (!stop_) {
    const bool told_to_stop = sigtimedwait(&signals, nullptr, &interval) == SIGTERM;
    bool stuck = false;
    for (int rank = 0; rank < board_.ranks(); ++rank) {
      if (board_.died(rank)) {
        report_and_exit("rank " + std::to_string(rank) + " died " + doing(rank));
      }
      stuck = stuck ||
              (board_.entry(rank).finished == 0 && board_.idle_seconds(rank) > deadline_seconds_);
    }
    if (told_to_stop) report_and_exit("told to stop (SIGTERM), was " + doing(board_.rank()));
    if (stuck && board_.entry(board_.rank()).finished == 0) {
      const int behind = furthest_behind();
      report_and_exit("no progress for " + std::to_string(deadline_seconds_.load()) +
                      " s (the deadline); rank " + std::to_string(behind) +
                      " is furthest behind, " + doing(behind));
    }
  }
}

}  // namespace paceline::runtime
