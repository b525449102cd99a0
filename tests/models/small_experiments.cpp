#include "tests/models/small_experiments.hpp"

#include "models/lowering/lowering.hpp"

namespace paceline::test {

models::VitArchitecture tiny_architecture() {
  return {.id = "tiny",
          .image_size = 8,
          .patch_size = 4,
          .channels = 3,
          .width = 8,
          .depth = 2,
          .heads = 2,
          .mlp_hidden = 16,
          .classes = 5};
}

models::Experiment tiny_experiment() {
  models::Experiment experiment;
  experiment.model = tiny_architecture();
  experiment.training.micro_batch = {3};
  return experiment;
}

namespace {

/// Several buckets of 1 MiB, and parameters larger than one.
std::vector<models::VitArchitecture> varied_architectures() {
  models::VitArchitecture wide = tiny_architecture();
  wide.width = 600;  // 1,440,000-byte projections
  wide.mlp_hidden = 1'000;
  wide.depth = 1;
  models::VitArchitecture deep = tiny_architecture();
  deep.width = 128;
  deep.mlp_hidden = 512;
  deep.depth = 5;
  return {tiny_architecture(), wide, deep};
}

}  // namespace

std::vector<models::Experiment> varied_experiments() {
  std::vector<models::Experiment> experiments;
  for (const auto& architecture : varied_architectures()) {
    for (const std::vector<std::int64_t>& batches :
         {std::vector<std::int64_t>{2}, {4, 1}, {3, 3, 1}, {2, 1, 2, 7, 1}}) {
      for (const std::int64_t accumulation : {1, 3}) {
        for (const std::int64_t bucket_mib : {1, 25}) {
          for (const bool overlap : {true, false}) {
            models::Experiment experiment;
            experiment.model = architecture;
            experiment.training.micro_batch = batches;
            experiment.training.accumulation_steps = accumulation;
            experiment.parallel.world_size = static_cast<std::int64_t>(batches.size());
            experiment.parallel.bucket_mib = bucket_mib;
            experiment.parallel.overlap = overlap;
            experiments.push_back(experiment);
          }
        }
      }
    }
  }
  return experiments;
}

std::string described(const models::Experiment& experiment) {
  return "width " + std::to_string(experiment.model.width) + ", " +
         std::to_string(experiment.parallel.world_size) + " ranks, accumulation " +
         std::to_string(experiment.training.accumulation_steps) + ", buckets of " +
         std::to_string(experiment.parallel.bucket_mib) + " MiB, overlap " +
         (experiment.parallel.overlap ? "on" : "off");
}

std::vector<models::Program> programs_of_all_ranks(const models::Experiment& experiment) {
  std::vector<models::Program> programs;
  for (int rank = 0; rank < static_cast<int>(experiment.parallel.world_size); ++rank) {
    programs.push_back(models::lower_training(experiment, rank));
  }
  return programs;
}

}  // namespace paceline::test
