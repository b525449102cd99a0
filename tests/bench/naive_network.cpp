#include "naive_network.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <vector>

#include "core/rates.hpp"

namespace paceline::sim {
namespace {

class NaiveNetwork {
 public:
  explicit NaiveNetwork(std::map<int, double> capacity) : capacity_(std::move(capacity)) {}

  void at(core::Time time, std::function<void()> run) {
    events_.push({time, sequence_++, std::move(run)});
  }
  void start(std::vector<int> links, double bytes, std::function<void()> ended) {
    advance();
    flows_[next_flow_++] = {std::move(links), bytes, 0, std::move(ended)};
    solve();
  }
  core::Time run() {
    while (!events_.empty()) {
      Event event = events_.top();
      events_.pop();
      now_ = event.time;
      event.run();
    }
    return now_;
  }
  [[nodiscard]] core::Time now() const { return now_; }

 private:
  struct Flow {
    std::vector<int> links;
    double left = 0;
    double rate = 0;
    std::function<void()> ended;
  };
  struct Event {
    core::Time time;
    std::uint64_t sequence = 0;
    std::function<void()> run;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };

  void advance() {
    for (auto& [id, flow] : flows_) flow.left -= flow.rate * (now_ - since_).seconds();
    since_ = now_;
  }
  void solve() {
    std::map<int, double> left = capacity_;
    std::set<int> open;
    for (auto& [id, flow] : flows_) open.insert(id);
    while (!open.empty()) {
      std::map<int, int> users;
      for (const int id : open) {
        for (const int link : flows_[id].links) ++users[link];
      }
      double share = std::numeric_limits<double>::infinity();
      int narrowest = 0;
      for (const auto& [link, count] : users) {
        if (left[link] / count < share) {
          share = left[link] / count;
          narrowest = link;
        }
      }
      for (auto id = open.begin(); id != open.end();) {
        Flow& flow = flows_[*id];
        if (std::find(flow.links.begin(), flow.links.end(), narrowest) == flow.links.end()) {
          ++id;
          continue;
        }
        flow.rate = share;
        for (const int link : flow.links) left[link] -= share;
        id = open.erase(id);
      }
    }
    plan_next_end();
  }
  void plan_next_end() {
    double soonest = std::numeric_limits<double>::infinity();
    for (auto& [id, flow] : flows_) soonest = std::min(soonest, flow.left / flow.rate);
    const std::uint64_t plan = ++plan_;
    if (flows_.empty()) return;
    at(now_ + core::Time::from_seconds(std::max(0.0, soonest)), [this, plan] {
      if (plan != plan_) return;
      advance();
      std::vector<std::function<void()>> ended;
      for (auto flow = flows_.begin(); flow != flows_.end();) {
        if (flow->second.left > 1e-3) {
          ++flow;
          continue;
        }
        ended.push_back(std::move(flow->second.ended));
        flow = flows_.erase(flow);
      }
      solve();
      for (auto& done : ended) done();
    });
  }

  std::map<int, double> capacity_;
  std::map<int, Flow> flows_;
  std::priority_queue<Event> events_;
  core::Time now_, since_;
  std::uint64_t sequence_ = 0, plan_ = 0;
  int next_flow_ = 0;
};

}  // namespace

core::Time naive_ring_all_reduce(int ranks, core::Bytes bytes, core::ByteRate rate,
                                 core::Time latency) {
  std::map<int, double> capacity;
  for (int link = 0; link < 2 * ranks; ++link) capacity[link] = rate.value();
  NaiveNetwork network(capacity);
  const double slice = static_cast<double>(bytes.value()) / ranks;
  core::Time end;
  std::function<void(int, int)> send = [&](int rank, int step) {
    const int to = (rank + 1) % ranks;
    network.start({2 * rank, 2 * to + 1}, slice, [&, to, step] {
      network.at(network.now() + latency, [&, to, step] {
        end = std::max(end, network.now());
        if (step + 1 < 2 * (ranks - 1)) send(to, step + 1);
      });
    });
  };
  for (int rank = 0; rank < ranks; ++rank) {
    network.at(core::Time{}, [&send, rank] { send(rank, 0); });
  }
  network.run();
  return end;
}

}  // namespace paceline::sim
