#include <gtest/gtest.h>

#include "core/report.hpp"
#include "hand_made.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/predict/predict.hpp"

namespace paceline::sim {
namespace {

using hardware_profiles::Cluster;

/// A small experiment and a cluster for it, drawn from a seed.
struct Drawn {
  models::Experiment experiment;
  Cluster cluster;
};

Drawn draw(std::uint64_t seed, bool overlap) {
  core::Random random(seed);
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
  };
  const auto ranks = static_cast<int>(between(1, 5));
  models::Experiment experiment = testing::small_experiment(ranks);
  experiment.model.width = 16 * between(1, 4);
  experiment.model.mlp_hidden = 2 * experiment.model.width;
  experiment.model.depth = between(1, 3);
  // A head that needs buckets of its own, so that there are several collectives.
  experiment.model.classes = between(2, 5) * 10000;
  experiment.training.accumulation_steps = between(1, 2);
  experiment.training.micro_batch.clear();
  for (int rank = 0; rank < ranks; ++rank) {
    experiment.training.micro_batch.push_back(between(1, 6));
  }
  experiment.parallel.bucket_mib = 1;
  experiment.parallel.overlap = overlap;
  std::vector<hardware_profiles::CpuDevice> devices;
  for (const char* id : {"one", "two", "three"}) {
    devices.push_back(testing::random_device(id, experiment, ranks, random));
  }
  const double latency_us = 10 * random.uniform();
  const double bytes_per_us = 100 + 5000 * random.uniform();
  const bool star = random.below(2) == 0;
  Cluster cluster = star ? testing::star_cluster(ranks, devices, latency_us, bytes_per_us)
                         : testing::meshed_cluster(ranks, devices, latency_us, bytes_per_us);
  return {std::move(experiment), std::move(cluster)};
}

std::vector<models::Program> lowered(const models::Experiment& experiment) {
  std::vector<models::Program> programs;
  for (int rank = 0; rank < experiment.parallel.world_size; ++rank) {
    programs.push_back(models::lower_training(experiment, rank));
  }
  return programs;
}

constexpr std::uint64_t draws = 40;

TEST(Property, phases_of_every_rank_sum_to_the_step_to_the_picosecond) {
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    for (const bool overlap : {false, true}) {
      const Drawn drawn = draw(seed, overlap);
      const testing::Simulated simulated(lowered(drawn.experiment), drawn.cluster);
      for (const RankResult& rank : simulated.result().ranks) {
        core::Time sum;
        for (const core::Time phase : rank.phases) sum += phase;
        EXPECT_EQ(sum, simulated.result().step_time) << "seed " << seed;
      }
    }
  }
}

TEST(Property, reported_phases_sum_to_the_reported_step) {
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const Drawn drawn = draw(seed, true);
    const core::Report report = predict(drawn.experiment, drawn.cluster);
    for (const core::RankReport& rank : report.ranks) {
      double sum = 0;
      for (const double phase : rank.phases_us) sum += phase;
      EXPECT_NEAR(sum, report.step_time_us->median, 1e-6) << "seed " << seed;
    }
  }
}

/// Where operation `index` of a rank ended: its last segment, or where the rank left the
/// collective.
core::Time end_of(const testing::Simulated& simulated, std::size_t rank, std::size_t index) {
  const models::Operation& operation = simulated.programs()[rank].operations[index];
  if (const auto* shape = std::get_if<models::CollectiveShape>(&operation.shape)) {
    return simulated.result().collectives.at(static_cast<std::size_t>(shape->sequence)).left[rank];
  }
  core::Time end;
  for (const Segment& segment : simulated.result().ranks[rank].segments) {
    if (segment.operation == index) end = segment.end;
  }
  return end;
}

TEST(Property, no_operation_begins_before_what_it_depends_on_has_ended) {
  std::size_t checked = 0;
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const Drawn drawn = draw(seed, true);
    const testing::Simulated simulated(lowered(drawn.experiment), drawn.cluster,
                                       Timeline::Keep::segments);
    for (std::size_t rank = 0; rank < simulated.programs().size(); ++rank) {
      const models::Program& program = simulated.programs()[rank];
      for (const Segment& segment : simulated.result().ranks[rank].segments) {
        if (segment.activity != Activity::operation) continue;
        for (const auto before : program.dependencies_of(models::OperationId(segment.operation))) {
          EXPECT_GE(segment.begin, end_of(simulated, rank, before.index())) << "seed " << seed;
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 100u);
}

TEST(Property, segments_of_a_rank_have_no_gaps) {
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const Drawn drawn = draw(seed, true);
    const testing::Simulated simulated(lowered(drawn.experiment), drawn.cluster,
                                       Timeline::Keep::segments);
    for (const RankResult& rank : simulated.result().ranks) {
      core::Time last = rank.begin;
      for (const Segment& segment : rank.segments) {
        EXPECT_EQ(segment.begin, last) << "seed " << seed;
        last = segment.end;
      }
      EXPECT_EQ(last - rank.begin, rank.own_period);
    }
  }
}

TEST(Property, without_overlap_steps_repeat_themselves) {
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const Drawn drawn = draw(seed, false);
    const testing::Simulated simulated(lowered(drawn.experiment), drawn.cluster);
    EXPECT_TRUE(simulated.result().periodic) << "seed " << seed;
  }
}

TEST(Property, more_bandwidth_is_never_slower_without_overlap) {
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const Drawn drawn = draw(seed, false);
    const testing::Simulated before(lowered(drawn.experiment), drawn.cluster);
    Cluster faster = drawn.cluster;
    for (auto& link : faster.links) link.bandwidth = link.bandwidth * 1.5;
    const testing::Simulated after(lowered(drawn.experiment), faster);
    EXPECT_LE(after.step_ps(), before.step_ps()) << "seed " << seed;
  }
}

TEST(Property, faster_kernels_are_never_slower_without_overlap) {
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const Drawn drawn = draw(seed, false);
    const testing::Simulated before(lowered(drawn.experiment), drawn.cluster);
    Cluster faster = drawn.cluster;
    for (auto& level : faster.cpu_devices.at("two").levels) {
      for (auto& [name, model] : level.kernels) {
        for (auto& [feature, us] : model.us_per_feature) us *= 0.7;
      }
    }
    const testing::Simulated after(lowered(drawn.experiment), faster);
    EXPECT_LE(after.step_ps(), before.step_ps()) << "seed " << seed;
  }
}

TEST(Property, overlap_is_never_slower_for_equal_ranks) {
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    Drawn drawn = draw(seed, false);
    drawn.experiment.training.micro_batch = {3};
    for (auto& slot : drawn.cluster.slots) slot.device = "one";
    const testing::Simulated without(lowered(drawn.experiment), drawn.cluster);
    drawn.experiment.parallel.overlap = true;
    const testing::Simulated with(lowered(drawn.experiment), drawn.cluster);
    EXPECT_LE(with.step_ps(), without.step_ps()) << "seed " << seed;
  }
}

TEST(Property, the_same_arguments_give_the_same_report_and_event_log) {
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    for (const bool overlap : {false, true}) {
      const Drawn drawn = draw(seed, overlap);
      const Drawn again = draw(seed, overlap);
      EXPECT_EQ(core::report_text(predict(drawn.experiment, drawn.cluster)),
                core::report_text(predict(again.experiment, again.cluster)));
      const testing::Simulated one(lowered(drawn.experiment), drawn.cluster);
      const testing::Simulated two(lowered(again.experiment), again.cluster);
      EXPECT_EQ(one.result().event_log_hash, two.result().event_log_hash) << "seed " << seed;
      EXPECT_EQ(one.result().events, two.result().events);
    }
  }
}

}  // namespace
}  // namespace paceline::sim
