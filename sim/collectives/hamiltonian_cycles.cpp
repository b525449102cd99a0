#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/collectives/group_fabric.hpp"

namespace paceline::sim {
namespace {

/// Depth-first search for as many edge-disjoint undirected cycles as the degrees allow.
class CycleSearch {
 public:
  explicit CycleSearch(std::vector<std::vector<int>> units)
      : units_(std::move(units)), size_(units_.size()) {
    int least = std::numeric_limits<int>::max();
    for (const auto& row : units_) {
      int degree = 0;
      for (const int unit : row) degree += unit;
      least = std::min(least, degree);
    }
    most_ = least / 2;
  }

  void run() {
    if (most_ > 0) begin_cycle();
  }
  [[nodiscard]] const std::vector<std::vector<int>>& best() const { return best_; }
  [[nodiscard]] bool uses_all() const { return static_cast<int>(best_.size()) == most_; }

 private:
  static constexpr int most_steps = 200'000;

  [[nodiscard]] bool ended() const { return steps_ > most_steps || uses_all(); }

  void begin_cycle() {
    if (found_.size() > best_.size()) best_ = found_;
    if (ended()) return;
    path_.assign(1, 0);
    visited_.assign(size_, false);
    visited_[0] = true;
    extend();
  }

  void extend() {
    if (ended() || ++steps_ > most_steps) return;
    const auto at = static_cast<std::size_t>(path_.back());
    if (path_.size() == size_) {
      if (units_[at][0] > 0) close_cycle();
      return;
    }
    std::vector<int> next;
    for (std::size_t to = 0; to < size_; ++to) {
      if (!visited_[to] && units_[at][to] > 0) next.push_back(static_cast<int>(to));
    }
    std::stable_sort(next.begin(), next.end(), [&](int a, int b) {
      return units_[at][static_cast<std::size_t>(a)] > units_[at][static_cast<std::size_t>(b)];
    });
    for (const int to : next) {
      visited_[static_cast<std::size_t>(to)] = true;
      path_.push_back(to);
      extend();
      path_.pop_back();
      visited_[static_cast<std::size_t>(to)] = false;
      if (ended()) return;
    }
  }

  void change(const std::vector<int>& cycle, int by) {
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const auto a = static_cast<std::size_t>(cycle[i]);
      const auto b = static_cast<std::size_t>(cycle[(i + 1) % cycle.size()]);
      units_[a][b] += by;
      units_[b][a] += by;
    }
  }

  void close_cycle() {
    const std::vector<int> path = path_;
    const std::vector<bool> visited = visited_;
    change(path, -1);
    found_.push_back(path);
    begin_cycle();
    found_.pop_back();
    change(path, 1);
    path_ = path;
    visited_ = visited;
  }

  std::vector<std::vector<int>> units_;
  std::size_t size_;
  int most_ = 0;
  int steps_ = 0;
  std::vector<int> path_;
  std::vector<bool> visited_;
  std::vector<std::vector<int>> found_, best_;
};

}  // namespace

std::vector<std::vector<int>> hamiltonian_cycles(const std::vector<std::vector<double>>& capacity) {
  const std::size_t size = capacity.size();
  double unit = std::numeric_limits<double>::infinity();
  for (const auto& row : capacity) {
    for (const double value : row) {
      if (value > 0) unit = std::min(unit, value);
    }
  }
  if (size < 2 || !std::isfinite(unit)) return {};
  if (size == 2) return {{0, 1}};
  std::vector<std::vector<int>> best;
  double best_rate = 0;
  for (int division = 0; division < 3; ++division, unit /= 2) {
    std::vector<std::vector<int>> units(size, std::vector<int>(size, 0));
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        units[i][j] = static_cast<int>(std::floor(capacity[i][j] / unit * (1 + 1e-9)));
      }
    }
    CycleSearch search(units);
    search.run();
    const double rate = static_cast<double>(search.best().size()) * unit;
    if (rate > best_rate * (1 + 1e-9)) {
      best_rate = rate;
      best = search.best();
    }
    // An odd degree leaves an edge over; halves of it may still be used.
    if (search.uses_all()) {
      int least = std::numeric_limits<int>::max();
      for (const auto& row : units) {
        int degree = 0;
        for (const int count : row) degree += count;
        least = std::min(least, degree);
      }
      if (least % 2 == 0) break;
    }
  }
  const std::size_t undirected = best.size();
  for (std::size_t i = 0; i < undirected; ++i) {
    std::vector<int> back(best[i].rbegin(), best[i].rend());
    best.push_back(std::move(back));
  }
  return best;
}

}  // namespace paceline::sim
