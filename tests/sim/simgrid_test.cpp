#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "core/rates.hpp"
#include "sim/network/traffic_simulation.hpp"

// SimGrid (https://simgrid.org) has simulated flows with max-min fair shares for twenty years: its
// replay of MPI traces on a cluster of hosts around one switch is the reference for ours. Factors
// that SimGrid fits to real TCP are set to 1, and its congestion window to infinity.
namespace paceline::sim {
namespace {

using core::Bytes;
using core::CollectiveAlgorithm;
using core::CollectiveKind;

constexpr double gb_per_s = 12.5;
constexpr double cable_us = 0.7;

bool has_smpirun() { return std::system("command -v smpirun > /dev/null 2>&1") == 0; }

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("paceline_simgrid_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// Seconds that SimGrid takes for these actions of each rank.
double simgrid_seconds(const std::vector<std::string>& actions, const std::string& options) {
  const Folder folder;
  const std::size_t ranks = actions.size();
  std::ostringstream platform;
  platform << "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
              "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\"><cluster id=\"c\" "
              "prefix=\"n\" suffix=\"\" radical=\"0-"
           << ranks - 1 << "\" speed=\"1Gf\" bw=\"" << gb_per_s << "GBps\" lat=\"" << cable_us
           << "us\" sharing_policy=\"SPLITDUPLEX\"/></platform>\n";
  folder.write("platform.xml", platform.str());
  std::string hosts;
  std::string traces;
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::string rank = std::to_string(i);
    hosts += "n" + rank + "\n";
    traces += folder.path() + "/" + rank + ".txt\n";
    std::istringstream lines(actions[i]);
    std::string text = rank + " init\n";
    for (std::string line; std::getline(lines, line);) text += rank + " " + line + "\n";
    folder.write(rank + ".txt", text + rank + " finalize\n");
  }
  folder.write("hosts.txt", hosts);
  folder.write("traces.txt", traces);
  const std::string command =
      "cd " + folder.path() + " && smpirun -replay traces.txt -np " + std::to_string(ranks) +
      " -platform platform.xml -hostfile hosts.txt " + options +
      " --cfg=smpi/bw-factor:0:1 --cfg=smpi/lat-factor:0:1 --cfg=network/TCP-gamma:1e12 "
      "--cfg=network/crosstraffic:0 --cfg=smpi/os:0:0:0 --cfg=smpi/ois:0:0:0 "
      "--cfg=smpi/or:0:0:0 --cfg=smpi/host-speed:1Gf 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) output += part.data();
  ::pclose(pipe);
  const std::string word = "Simulation time ";
  const auto found = output.find(word);
  if (found == std::string::npos) throw std::runtime_error("smpirun failed: " + output);
  return std::stod(output.substr(found + word.size()));
}

double ours_seconds(const Traffic& traffic) {
  return simulate_traffic(star_network(static_cast<int>(traffic.ranks.size()),
                                       core::gb_per_s(gb_per_s), core::Time::from_us(cable_us)),
                          traffic, {Granularity::steps, Folding::off})
      .end.seconds();
}

void expect_agreement(double ours, double reference) {
  EXPECT_NEAR(ours / reference, 1, 0.001) << ours << " s and " << reference << " s";
}

void expect_same_collective(CollectiveKind kind, CollectiveAlgorithm algorithm, int ranks,
                            std::int64_t bytes, const std::string& action,
                            const std::string& options) {
  SCOPED_TRACE(testing::Message() << ranks << " ranks, " << action);
  Traffic traffic;
  traffic.communicators.resize(1);
  traffic.communicators[0].resize(static_cast<std::size_t>(ranks));
  std::iota(traffic.communicators[0].begin(), traffic.communicators[0].end(), 0);
  traffic.collectives = {{0, kind, algorithm, Bytes(bytes)}};
  traffic.ranks.assign(static_cast<std::size_t>(ranks), {{Traffic::Do::issue, {}, 0}});
  expect_agreement(
      ours_seconds(traffic),
      simgrid_seconds(std::vector<std::string>(static_cast<std::size_t>(ranks), action), options));
}

#define PACELINE_NEEDS_SMPIRUN \
  if (!has_smpirun()) GTEST_SKIP() << "smpirun is not installed (apt-get install simgrid)"

// SimGrid prints microseconds: sizes make every run last 3 ms and more.
TEST(SimGrid, all_reduce_by_ring) {
  PACELINE_NEEDS_SMPIRUN;
  for (const int ranks : {2, 4, 8, 16}) {
    expect_same_collective(CollectiveKind::all_reduce, CollectiveAlgorithm::ring, ranks,
                           100'000'000, "allreduce 100000000 0", "--cfg=smpi/allreduce:lr");
  }
}

TEST(SimGrid, all_gather_by_ring) {
  PACELINE_NEEDS_SMPIRUN;
  for (const int ranks : {2, 5, 8}) {
    expect_same_collective(CollectiveKind::all_gather, CollectiveAlgorithm::ring, ranks,
                           25'000'000L * ranks, "allgather 25000000 25000000",
                           "--cfg=smpi/allgather:ring");
  }
}

TEST(SimGrid, pairwise_exchange) {
  PACELINE_NEEDS_SMPIRUN;
  for (const int ranks : {2, 4, 8}) {
    expect_same_collective(CollectiveKind::all_to_all, CollectiveAlgorithm::pairwise, ranks,
                           25'000'000L * ranks, "alltoall 25000000 25000000",
                           "--cfg=smpi/alltoall:ring");
  }
}

// Two senders share the port of one receiver: 60 MB and 120 MB.
TEST(SimGrid, two_messages_to_one_receiver) {
  PACELINE_NEEDS_SMPIRUN;
  Traffic traffic;
  traffic.communicators = {{0, 2}, {1, 3}};
  // Ours has one stream a rank: rank 3 stands behind rank 2's port.
  TrafficNetwork network = star_network(4, core::gb_per_s(gb_per_s), core::Time::from_us(cable_us));
  network.way = [way = network.way](int from, int to) { return way(from, to == 3 ? 2 : to); };
  traffic.collectives = {
      {0, CollectiveKind::point_to_point, CollectiveAlgorithm::pairwise, Bytes(60'000'000)},
      {1, CollectiveKind::point_to_point, CollectiveAlgorithm::pairwise, Bytes(120'000'000)}};
  traffic.ranks = {{{Traffic::Do::issue, {}, 0}},
                   {{Traffic::Do::issue, {}, 1}},
                   {{Traffic::Do::issue, {}, 0}},
                   {{Traffic::Do::issue, {}, 1}}};
  expect_agreement(
      simulate_traffic(network, traffic, {Granularity::steps, Folding::off}).end.seconds(),
      simgrid_seconds({"send 2 0 60000000", "send 2 0 120000000",
                       "irecv 0 0 60000000\nirecv 1 0 120000000\nwaitall"},
                      ""));
}

}  // namespace
}  // namespace paceline::sim
