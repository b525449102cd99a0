#include "runtime/app/commands.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "core/report.hpp"
#include "runtime/app/bench.hpp"
#include "runtime/app/command_options.hpp"

/// `paceline-rt` as one process: what it prints, and what it refuses with which words.
namespace paceline::runtime {
namespace {

using testing::HasSubstr;

struct Ran {
  int code = 0;
  std::string out;
};

Ran ran(const std::vector<std::string>& words) {
  testing::internal::CaptureStdout();
  const int code = run_command(words);
  return {code, testing::internal::GetCapturedStdout()};
}

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::string refused(const std::vector<std::string>& words) {
  return refusal([&] { run_command(words); });
}

TEST(RuntimeProgram, help_lists_every_command) {
  const Ran help = ran({"help"});
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"doctor", "calibrate --out", "bench WHAT", "train EXPERIMENT"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
  }
  EXPECT_EQ(ran({}).code, 2);
}

TEST(RuntimeProgram, an_unknown_command_gives_the_nearest) {
  EXPECT_EQ(refused({"bensh"}),
            "unknown command \"bensh\", did you mean \"bench\"? (see paceline-rt help)");
}

TEST(Bench, help_shows_an_example_that_runs) {
  EXPECT_THAT(ran({"bench", "--help"}).out,
              HasSubstr("paceline-rt bench gemm --shape 512x512x512 --seconds 0.1\n"));
  const Ran gemm = ran({"bench", "gemm", "--shape", "512x512x512", "--seconds", "0.1"});
  EXPECT_EQ(gemm.code, 0);
  for (const char* layout : {"512x512x512 nt ", "512x512x512 nn ", "512x512x512 tn "}) {
    EXPECT_THAT(gemm.out, HasSubstr(layout));
  }
  EXPECT_EQ(ran({"bench"}).code, 2);
}

TEST(Bench, each_kind_prints_its_rows) {
  EXPECT_THAT(ran({"bench", "attention", "--shape", "2x2x5x4", "--seconds", "0.001"}).out,
              HasSubstr("2x2x5x4 backward"));
  EXPECT_THAT(ran({"bench", "memory", "--max-bytes", "4K", "--seconds", "0.001"}).out,
              HasSubstr("4096 B accumulate"));
}

TEST(Bench, bad_words_are_refused) {
  EXPECT_EQ(refused({"bench", "disk"}),
            "bench does not know \"disk\" (must be gemm, attention, memory or collectives)");
  EXPECT_EQ(refused({"bench", "gemm", "--shape", "3x4"}),
            "--shape: got \"3x4\" (must be 3 whole numbers of 1 to 1048576 with x between)");
  EXPECT_EQ(refused({"bench", "gemm", "--seconds", "0"}),
            "--seconds: got 0 (must be 0.001 to 600)");
  EXPECT_EQ(refused({"bench", "gemm", "--threads", "0"}), "--threads: got 0 (must be 1 to 1024)");
  EXPECT_EQ(refused({"bench", "collectives", "--collective", "broadcast"}),
            "--collective: got \"broadcast\" (must be all_reduce or sendrecv)");
  EXPECT_EQ(refused({"bench", "collectives"}),
            "bench collectives needs 2 ranks or more, 1 was started (mpirun -n 2 paceline-rt bench "
            "collectives)");
  EXPECT_EQ(refused({"bench", "memory", "-b", "8M", "-e", "4M"}),
            "--max-bytes: got 4194304 (must be 8388608 to 100000000000)");
}

TEST(Bench, sizes_read_as_those_of_nccl_tests) {
  EXPECT_EQ(parse_bytes("b", "8"), 8);
  EXPECT_EQ(parse_bytes("b", "64K"), 64 * 1024);
  EXPECT_EQ(parse_bytes("b", "4m"), 4 * 1024 * 1024);
  EXPECT_EQ(parse_bytes("b", "1G"), 1024 * 1024 * 1024);
  for (const char* bad : {"", "K", "0", "-8", "8T", "8KB", "1.5M", "99999999999G"}) {
    EXPECT_EQ(refusal([&] { static_cast<void>(parse_bytes("b", bad)); }),
              std::string("--b: got \"") + bad +
                  "\" (must be bytes, as 8, 64K, 4M or 1G with powers of 1024)");
  }
}

TEST(Bench, extents_are_separated_by_x) {
  EXPECT_EQ(parse_extents("shape", "197x768x3072", 3), (std::vector<std::int64_t>{197, 768, 3072}));
  for (const char* bad : {"", "1", "1x2x", "x1x2", "1x2x3x4", "1,2,3", "0x1x2", "1x2x1048577"}) {
    EXPECT_THROW(static_cast<void>(parse_extents("shape", bad, 3)), core::UsageError) << bad;
  }
}

/// Files of a run of its own, gone at the end.
class Train : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("paceline-train-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    std::ofstream(file("experiment.json"))
        << R"({"schema": "paceline/experiment/1", "framework": "paceline",
               "model": {"id": "tiny", "image_size": 8, "patch_size": 4, "width": 16, "depth": 1,
                         "heads": 2, "mlp_hidden": 32, "classes": 10},
               "training": {"micro_batch": 2}, "run": {"steps": 3, "warmup_steps": 1}})";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_ / name; }

  std::filesystem::path folder_;
};

TEST_F(Train, writes_report_and_trace_and_prints_the_headline) {
  const Ran trained = ran({"train", file("experiment.json"), "--json", file("report.json"),
                           "--trace", file("trace.json")});
  EXPECT_EQ(trained.code, 0);
  EXPECT_THAT(trained.out, HasSubstr("tiny: 1 rank, 2 images a step\nstep "));
  EXPECT_EQ(core::read_report(file("report.json")).step_time_us->samples->size(), 3U);
  EXPECT_TRUE(std::filesystem::exists(file("trace.json")));
  // A report of the same experiment states what a step takes, whoever made it.
  EXPECT_EQ(ran({"train", file("experiment.json"), "--predicted", file("report.json")}).code, 0);
}

TEST_F(Train, a_prediction_of_another_experiment_or_without_a_time_is_refused) {
  ASSERT_EQ(ran({"train", file("experiment.json"), "--json", file("report.json")}).code, 0);
  core::Report report = core::read_report(file("report.json"));
  const std::string hash = report.identity.experiment_hash;
  report.step_time_us.reset();
  std::ofstream(file("no_time.json")) << core::report_text(report);
  EXPECT_EQ(refused({"train", file("experiment.json"), "--predicted", file("no_time.json")}),
            file("no_time.json") +
                "#/step_time_us: is missing (a prediction that does not fit has no time)");
  report.identity.experiment_hash = "another";
  std::ofstream(file("other.json")) << core::report_text(report);
  EXPECT_EQ(refused({"train", file("experiment.json"), "--predicted", file("other.json")}),
            file("other.json") + "#/identity/experiment_hash: got another (must be the " + hash +
                " of this experiment: predict it again)");
}

TEST_F(Train, results_that_could_not_be_written_are_refused_before_the_work) {
  for (const char* option : {"--json", "--trace"}) {
    EXPECT_EQ(
        refused({"train", file("experiment.json"), option, file("nowhere/x.json")}),
        file("nowhere/x.json") + ": its folder does not exist or is not writable (make it first)");
  }
  EXPECT_EQ(refused({"train", file("experiment.json"), "--trace-steps", "0"}),
            "--trace-steps: got 0 (must be 1 to 1000)");
}

}  // namespace
}  // namespace paceline::runtime
