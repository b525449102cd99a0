#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/experiment.hpp"
#include "models/program.hpp"

namespace paceline::test {

/// 8x8 images, patch 4 (4 + 1 tokens), width 8, depth 2, 2 heads, MLP 16, 5 classes: small enough
/// to count by hand.
[[nodiscard]] models::VitArchitecture tiny_architecture();

/// One rank trains the tiny architecture with 3 images a micro-step.
[[nodiscard]] models::Experiment tiny_experiment();

/// Training steps that differ in everything that lowering looks at: model, ranks, equal and unequal
/// batches, accumulation, bucket size, overlap.
[[nodiscard]] std::vector<models::Experiment> varied_experiments();

/// What differs between them, for messages.
[[nodiscard]] std::string described(const models::Experiment& experiment);

/// The Programs of all ranks, in rank order.
[[nodiscard]] std::vector<models::Program> programs_of_all_ranks(
    const models::Experiment& experiment);

}  // namespace paceline::test
