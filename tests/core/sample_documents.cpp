#include "tests/core/sample_documents.hpp"

namespace paceline::test {
namespace {

core::RankReport full_rank() {
  core::RankReport rank;
  rank.device = "host_core";
  rank.micro_batch = 64;
  rank.represents = 2;
  rank.phases_us[core::TimelinePhase::forward] = 100.5;
  rank.phases_us[core::TimelinePhase::straggler_wait] = 1.0 / 3.0;
  rank.peak_memory_total = core::Bytes(5'000'000'000);
  rank.peak_memory[core::MemoryCategory::activations] = core::Bytes(4'000'000'001);
  rank.resident_rise = core::Bytes(123);
  rank.clock_offset_us = -0.25;
  rank.clock_uncertainty_us = 0.125;
  rank.not_counted = {"evaluation"};
  return rank;
}

}  // namespace

core::Report smallest_report() {
  core::Report report;
  report.kind = core::ReportKind::predicted;
  report.identity = {.version = "0.1.0",
                     .experiment_hash = "0123456789abcdef",
                     .profile_hash = "",
                     .program_hashes = {}};
  report.model = "vit_digits";
  report.framework = "paceline";
  report.global_batch = 64;
  report.fits = false;
  report.ranks.emplace_back().device = "host_core";
  return report;
}

core::Report full_report() {
  core::Report report = smallest_report();
  report.kind = core::ReportKind::measured;
  report.identity.profile_hash = "fedcba9876543210";
  report.identity.program_hashes = {"00000000000000aa", "00000000000000bb"};
  report.provenance = {{"host", "here"}, {"cpu", "one \"quoted\" name"}};
  report.world_size = 2;
  report.global_batch = 256;
  report.accumulation_steps = 2;
  report.overlap = true;
  report.fits = true;
  report.step_time_us = core::StepTime{.median = 30'194.25,
                                       .p10 = 29'900,
                                       .p90 = 30'600,
                                       .interval_50 = std::vector<double>{29'400, 31'000},
                                       .interval_90 = std::vector<double>{27'000, 33'500},
                                       .samples = std::vector<double>{30'000, 0.1, 1e-7}};
  report.first_step_us = 50'000;
  report.images_per_s = 2'119.6;
  report.model_flop_rate_gflop_per_s = 74.5;
  report.mfu = {{"dense_peak", 0.226}, {"measured_ceiling", 0.283}};
  report.epoch_time_s = 23.6;
  report.gradient_bytes_on_wire = core::Bytes(346'270'624);
  report.reference_rate = core::ReferenceRate{.gflop_per_s = 45, .p10 = 40, .p90 = 50};
  report.assumptions = {{.key = "parallel/bucket_mib",
                         .value = "25",
                         .origin = "default",
                         .step_time_us_low = 1,
                         .step_time_us_high = 2}};
  report.track_record =
      core::TrackRecord{.set = "cpu", .runs = 12, .median_error = 0.03, .worst_error = 0.1};
  report.ranks = {full_rank()};
  report.collectives = {{.id = "communication.bucket0.all_reduce",
                         .kind = "all_reduce",
                         .bytes = core::Bytes(1'024),
                         .algorithm = "ring",
                         .protocol = "simple",
                         .ranks = 2,
                         .time_us = 10,
                         .algbw_gb_per_s = 0.1024,
                         .busbw_gb_per_s = 0.1024}};
  report.operations = {{.id = "forward.m0.blocks.3.attn.qkv",
                        .kind = "matmul",
                        .layer = 3,
                        .phase = "forward",
                        .calls = 20,
                        .time_us = {.median = 5, .p10 = 4, .p90 = 6},
                        .flops = core::Flops(1'000'000),
                        .bytes = core::Bytes(2'000)}};
  report.counted_work = {{{"matmul",
                           {.calls = 1,
                            .flops = core::Flops(2),
                            .bytes_read = core::Bytes(3),
                            .bytes_written = core::Bytes(4)}}},
                         {}};
  report.training = core::TrainingResult{.epochs = 2,
                                         .loss_by_epoch = {2.3, 1.9},
                                         .held_out_accuracy_by_epoch = {0.1, 0.4},
                                         .train_accuracy = 0.5,
                                         .held_out_accuracy = 0.4,
                                         .held_out_samples = 300,
                                         .wall_time_s = 12.5};
  report.bottleneck =
      core::Bottleneck{.cause = core::Cause::slow_device, .sentence = "Rank 1 is waited for."};
  return report;
}

core::Measurements full_measurements() {
  core::Measurements measurements;
  measurements.provenance = {{"host", "here"}};
  measurements.threads_per_rank = 1;
  measurements.cores = 2;
  measurements.memory = core::Bytes(16'000'000'000);
  measurements.host_issue_us = 0.15;
  measurements.levels = {{.active_ranks = 2,
                          .reference_gflop_per_s = 41.5,
                          .reference_p10 = 40,
                          .reference_p90 = 43,
                          .kernels = {{.kernel_class = "matmul_nt",
                                       .features = {{"call", 1}, {"mnk", 262'144}},
                                       .time_us = 13.7,
                                       .p10_us = 13,
                                       .p90_us = 15,
                                       .samples = 40}}}};
  measurements.transport = "vader";
  measurements.exchanges = {
      {.bytes = core::Bytes(4'096), .time_us = 2.5, .p10_us = 2, .p90_us = 3}};
  measurements.reductions = {{.bytes = core::Bytes(4'096), .time_us = 0.5}};
  measurements.collectives = {{.kind = "all_reduce",
                               .algorithm = "ring",
                               .ranks = 2,
                               .bytes = core::Bytes(8'192),
                               .time_us = 6.25}};
  return measurements;
}

}  // namespace paceline::test
