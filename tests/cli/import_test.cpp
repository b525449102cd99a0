#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planted_files.hpp"
#include "tests/hardware_profiles/nccl_tests_log.hpp"

/// `paceline import`: a log of nccl-tests goes into a cluster file.
namespace paceline::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Import : public testing::Test {
 protected:
  Import() {
    workplace_.write("gpus.csv", planted_gpus());
    workplace_.write("topo.txt", planted_topology());
    workplace_.write("a.log", test::nccl_log({.ranks = 2, .ranks_per_host = 2, .factor = 1}));
    EXPECT_EQ(workplace_
                  .run({"detect", "--from-nvidia-smi", "gpus.csv", "--from-topo", "topo.txt",
                        "--out", "lab.json"})
                  .code,
              0);
  }
  Workplace workplace_;
};

TEST_F(Import, prints_the_table_and_adds_it_to_the_cluster) {
  const Ran ran = workplace_.run({"import", "nccl-tests", "a.log", "--into", "lab.json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  // 2^30 bytes in 10 ms over two ranks: busbw = algbw = 107 GB/s.
  EXPECT_THAT(ran.out, AllOf(StartsWith("all_reduce over 2 ranks on 1 node (NVIDIA "
                                        "A100-SXM4-80GB): 3 sizes, best busbw 107 GB/s\n"),
                             HasSubstr("1073741824"), HasSubstr("Added to lab.json.")));
  EXPECT_THAT(workplace_.read("lab.json"), HasSubstr("\"measured_collectives\""));
  EXPECT_EQ(workplace_.run({"check", "lab.json"}).code, 0);
}

TEST_F(Import, without_a_cluster_it_only_prints) {
  const std::string before = workplace_.read("lab.json");
  const Ran ran = workplace_.run({"import", "a.log"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("busbw"));
  EXPECT_EQ(workplace_.read("lab.json"), before);
}

TEST_F(Import, out_leaves_the_cluster_as_it_is) {
  const std::string before = workplace_.read("lab.json");
  EXPECT_EQ(
      workplace_.run({"import", "a.log", "--into", "lab.json", "--out", "measured.json"}).code, 0);
  EXPECT_EQ(workplace_.read("lab.json"), before);
  EXPECT_EQ(workplace_.run({"check", "measured.json"}).code, 0);
}

TEST_F(Import, bad_usage_and_bad_logs_change_nothing) {
  const std::string before = workplace_.read("lab.json");
  workplace_.write("alone.log", test::nccl_log({.ranks = 1}));
  const auto refused = [&](const std::vector<std::string>& words, const std::string& message) {
    const Ran ran = workplace_.run(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_EQ(workplace_.read("lab.json"), before);
  };
  refused({"import", "alone.log", "--into", "lab.json"}, "alone.log: is of one rank alone");
  refused({"import", "a.log", "--into", "nowhere.json"}, "nowhere.json: no such file");
  refused({"import", "a.log", "--out", "o.json"}, "--out needs --into CLUSTER");
  refused({"import", "slurm", "a.log"}, "unknown kind \"slurm\" (must be nccl-tests)");
  refused({"import", "nvidia-smi-topo", "topo.txt"}, "(use paceline detect --from-nvidia-smi FILE");
  refused({"import", "a.log", "--collective", "all_redduce"},
          "--collective: got \"all_redduce\", did you mean all_reduce? (must be one of all_reduce");
}

}  // namespace
}  // namespace paceline::cli
