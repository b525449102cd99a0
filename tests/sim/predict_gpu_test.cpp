#include "sim/predict/predict_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/rates.hpp"
#include "core/report.hpp"
#include "hand_made.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/predict/report_parts.hpp"
#include "sim/predict/setup.hpp"
#include "tests/core/faults_of.hpp"

namespace paceline::sim {
namespace {

using core::Bytes;
using core::MemoryCategory;
using core::TimelinePhase;
using hardware_profiles::Cluster;
using hardware_profiles::Gpu;
using models::Experiment;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Experiment experiment_on(const std::vector<std::string>& cards, std::int64_t micro_batch = 8) {
  Experiment experiment;
  experiment.model = {.id = "small",
                      .image_size = 32,
                      .patch_size = 4,
                      .channels = 3,
                      .width = 192,
                      .depth = 3,
                      .heads = 3,
                      .mlp_hidden = 768,
                      .classes = 10};
  experiment.cluster = {.name = {}, .devices = cards};
  experiment.training.micro_batch = {micro_batch};
  experiment.parallel.world_size = static_cast<std::int64_t>(cards.size());
  return experiment;
}

Cluster cluster_of(const Experiment& experiment) {
  return hardware_profiles::cluster_of_gpus(experiment.cluster.devices, {});
}

core::Report predicted(const Experiment& experiment) {
  return predict(experiment, cluster_of(experiment));
}

const std::vector<std::string> eight_a100(8, "a100_sxm4_80gb");

MemoryFit fit_of(Experiment experiment, std::int64_t micro_batch, const Gpu& gpu) {
  experiment.training.micro_batch = {micro_batch};
  return gpu_memory_fit(
      models::lower_training(experiment, 0, hardware_profiles::capabilities_of(gpu)), gpu,
      Bytes(512));
}

TEST(PredictOnGpus, gives_the_same_bytes_twice) {
  const Experiment experiment = experiment_on(eight_a100);
  EXPECT_EQ(core::report_text(predicted(experiment)), core::report_text(predicted(experiment)));
}

TEST(PredictOnGpus, gives_phases_that_sum_to_the_step) {
  const core::Report report = predicted(experiment_on({"rtx3090", "gtx1080ti"}));
  ASSERT_TRUE(report.step_time_us);
  ASSERT_THAT(report.ranks, SizeIs(2));
  for (const core::RankReport& rank : report.ranks) {
    double sum = 0;
    for (const double phase : rank.phases_us) sum += phase;
    EXPECT_NEAR(sum, report.step_time_us->median, 1e-6) << "rank " << rank.rank;
  }
}

TEST(PredictOnGpus, simulates_ranks_in_the_same_situation_once) {
  const core::Report report = predicted(experiment_on(eight_a100));
  ASSERT_THAT(report.ranks, SizeIs(1));
  EXPECT_EQ(report.ranks[0].represents, 8);
  EXPECT_EQ(report.world_size, 8);
  EXPECT_EQ(report.global_batch, 8 * 8);
}

TEST(PredictOnGpus, keeps_ranks_with_another_card_or_batch_apart) {
  Experiment experiment = experiment_on({"rtx3090", "rtx3090", "gtx1080ti"});
  experiment.training.micro_batch = {8, 4, 4};
  const core::Report report = predicted(experiment);
  ASSERT_THAT(report.ranks, SizeIs(3));
  EXPECT_EQ(report.ranks[0].micro_batch, 8);
  EXPECT_EQ(report.ranks[1].device, "rtx3090");
  EXPECT_EQ(report.ranks[2].device, "gtx1080ti");
}

// ---- memory
// --------------------------------------------------------------------------------------

TEST(PredictOnGpus, gives_no_time_where_the_model_does_not_fit) {
  const core::Report report = predicted(experiment_on({"rtx3070"}, 100'000));
  EXPECT_FALSE(report.fits);
  EXPECT_FALSE(report.step_time_us);
  EXPECT_FALSE(report.images_per_s);
  EXPECT_FALSE(report.epoch_time_s);
  EXPECT_THAT(report.operations, IsEmpty());
  ASSERT_TRUE(report.bottleneck);
  EXPECT_EQ(report.bottleneck->cause, core::Cause::memory_capacity);
  EXPECT_THAT(report.bottleneck->sentence,
              HasSubstr("largest micro-batch " +
                        std::to_string(report.ranks.at(0).largest_micro_batch.value())));
}

TEST(PredictOnGpus, names_a_largest_micro_batch_that_fits_while_one_image_more_does_not) {
  for (const core::Precision precision : {core::Precision::fp32, core::Precision::amp_fp16}) {
    for (const std::int64_t given : {1, 64, 100'000}) {
      Experiment experiment = experiment_on({"rtx3070"}, given);
      experiment.training.precision = precision;
      const Cluster cluster = cluster_of(experiment);
      const Gpu& gpu = cluster.gpu_of(0);
      const std::int64_t largest = largest_micro_batch_on(experiment, 0, gpu);
      EXPECT_GT(largest, 0);
      EXPECT_TRUE(fit_of(experiment, largest, gpu).fits()) << largest;
      EXPECT_FALSE(fit_of(experiment, largest + 1, gpu).fits()) << largest;
    }
  }
}

TEST(PredictOnGpus, says_that_not_even_one_image_fits) {
  Experiment experiment = experiment_on({"rtx3070"});
  const Cluster cluster = cluster_of(experiment);
  Gpu small = cluster.gpu_of(0);
  small.memory_gib.value = 0.25;
  EXPECT_EQ(largest_micro_batch_on(experiment, 0, small), 0);
}

TEST(GpuMemoryFit, has_parts_that_sum_to_the_total) {
  for (const char* card : {"rtx3070", "h200"}) {
    const Experiment experiment = experiment_on({card});
    const Cluster cluster = cluster_of(experiment);
    const MemoryFit fit = fit_of(experiment, 8, cluster.gpu_of(0));
    Bytes sum;
    for (const Bytes part : fit.at_peak) sum += part;
    EXPECT_EQ(sum, fit.total) << card;
  }
}

// Two threads of PyTorch ask cuBLAS: 2 · 32 MiB on compute capability 9.0, else
// 2 · (4096 · 2 + 16 · 8) KiB = 2 · 8.125 MiB. The same Program, so the difference is all of it.
TEST(GpuMemoryFit, counts_larger_library_workspaces_on_hopper) {
  const Experiment experiment = experiment_on({"h200"});
  const Cluster cluster = cluster_of(experiment);
  const Gpu& hopper = cluster.gpu_of(0);
  Gpu other = hopper;
  other.compute_capability = "8.9";
  const auto program =
      models::lower_training(experiment, 0, hardware_profiles::capabilities_of(hopper));
  const MemoryFit large = gpu_memory_fit(program, hopper, Bytes(512));
  const MemoryFit small = gpu_memory_fit(program, other, Bytes(512));
  constexpr std::int64_t kib = 1024;
  EXPECT_EQ(large.total - small.total, Bytes(2 * (32 * 1024 - (4096 * 2 + 16 * 8)) * kib));
  EXPECT_EQ(large.at_peak[MemoryCategory::context], core::mib(480));
}

// ---- micro-batches by device
// ---------------------------------------------------------------------

TEST(MicroBatchByDevice, becomes_one_for_each_rank) {
  Experiment experiment = experiment_on({"rtx3090", "gtx1080ti", "rtx3090"});
  experiment.training.micro_batch.clear();
  experiment.training.micro_batch_by_device = {{"RTX 3090", 12}, {"1080ti", 3}};
  const Experiment settled = settled_on(experiment, cluster_of(experiment));
  EXPECT_THAT(settled.training.micro_batch, ElementsAre(12, 3, 12));
  EXPECT_THAT(settled.training.micro_batch_by_device, IsEmpty());
  EXPECT_EQ(predicted(experiment).global_batch, 12 + 3 + 12);
}

TEST(MicroBatchByDevice, is_refused_where_a_device_has_none_or_one_is_for_no_device) {
  Experiment experiment = experiment_on({"rtx3090", "gtx1080ti", "gtx1080ti"});
  experiment.training.micro_batch.clear();
  experiment.training.micro_batch_by_device = {{"rtx3090", 12}, {"rtx4090", 3}};
  const auto faults =
      test::faults_of([&] { return settled_on(experiment, cluster_of(experiment)); });
  ASSERT_THAT(faults, SizeIs(2));
  EXPECT_EQ(faults[0].text(),
            "experiment#/training/micro_batch: rank 1 runs on a gtx1080ti, for which no "
            "micro-batch is given (add \"gtx1080ti\")");
  EXPECT_EQ(faults[1].text(),
            "experiment#/training/micro_batch/rtx4090: no rank of the job runs on a rtx4090 (take "
            "it out)");
}

// ---- places
// --------------------------------------------------------------------------------------

TEST(RunsOnGpus, refuses_a_job_on_both_gpus_and_cpu_slots) {
  Experiment experiment = experiment_on({"rtx3090"});
  Cluster cluster = cluster_of(experiment);
  cluster.origin = "mixed.json";
  cluster.slots.push_back(
      {.vertex = cluster.slots[0].vertex, .node = 0, .device = "cpu", .gpu = {}});
  EXPECT_TRUE(runs_on_gpus(experiment, cluster));
  experiment.parallel.world_size = 2;
  const auto faults = test::faults_of([&] { return runs_on_gpus(experiment, cluster); });
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].text(),
            "mixed.json#/nodes: the job's 2 ranks lie on 1 GPUs and 1 CPU slots (one job runs on "
            "one kind: change parallel/world_size or the nodes)");
}

TEST(SetUp, refuses_other_frameworks_and_types_on_cpu_ranks) {
  Experiment experiment = testing::small_experiment(1);
  experiment.framework.name = core::FrameworkKind::pytorch_ddp;
  experiment.training.precision = core::Precision::amp_bf16;
  core::Random random(12);
  Experiment plain = experiment;
  plain.framework.name = core::FrameworkKind::paceline;
  plain.training.precision = core::Precision::fp32;
  const Cluster cluster =
      testing::star_cluster(1, {testing::random_device("cpu", plain, 1, random)}, 2, 1000);
  const auto faults = test::faults_of([&] { return set_up(experiment, cluster).programs; });
  ASSERT_THAT(faults, SizeIs(2));
  EXPECT_EQ(faults[0].text(),
            "experiment#/framework: got \"pytorch_ddp\" on CPU ranks, which only \"paceline\" is "
            "predicted for (--set framework=paceline, or choose a cluster of GPUs)");
  EXPECT_EQ(faults[1].text(),
            "experiment#/training/precision: got \"amp_bf16\" (CPU ranks run fp32)");
}

// ---- the batch, the links
// ------------------------------------------------------------------------

TEST(CopyWait, is_nothing_for_synthetic_images_which_lie_on_the_device) {
  const core::Report report = predicted(experiment_on({"rtx3090"}));
  EXPECT_EQ(report.ranks.at(0).phases_us[TimelinePhase::copy_wait], 0.0);
}

// 8 images of 3 · 32 · 32 floats and 8 labels of 8 bytes: 98,368 bytes, over PCI Express at 0.88 of
// its rate; rounded up to a picosecond.
TEST(CopyWait, of_a_data_set_is_the_batch_over_pci_express) {
  Experiment experiment = experiment_on({"rtx3090"});
  experiment.training.dataset.name = "cifar10";
  const Cluster cluster = cluster_of(experiment);
  const double bytes_per_us = cluster.gpu_of(0).pcie.bandwidth_gb_per_s() * 1e3 * 0.88;
  EXPECT_NEAR(predict(experiment, cluster).ranks.at(0).phases_us[TimelinePhase::copy_wait],
              98'368 / bytes_per_us, 2e-6);
}

TEST(PredictOnGpus, is_never_slower_over_faster_links) {
  for (const std::vector<std::string>& cards :
       {std::vector<std::string>{"rtx3090", "rtx3090"}, {"t4", "t4", "t4"}, eight_a100}) {
    Experiment experiment = experiment_on(cards);
    experiment.training.precision = core::Precision::amp_fp16;
    double last = 0;
    for (const double factor : {8.0, 4.0, 2.0, 1.0, 0.5, 0.1, 0.01}) {
      Cluster cluster = cluster_of(experiment);
      for (hardware_profiles::Link& link : cluster.links) {
        link.bandwidth = core::ByteRate(link.bandwidth.value() * factor);
      }
      const double step = predict(experiment, cluster).step_time_us->median;
      EXPECT_GE(step, last) << cards[0] << ", links × " << factor;
      last = step;
    }
  }
}

}  // namespace
}  // namespace paceline::sim
