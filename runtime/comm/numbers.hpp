#pragma once

#include <vector>

#include "runtime/comm/communicator.hpp"

namespace paceline::runtime {

/// `Communicator::gather` and `broadcast` for numbers: each rank's at rank 0, rank 0's everywhere.
[[nodiscard]] std::vector<std::vector<double>> gather_numbers(Communicator& communicator,
                                                              const std::vector<double>& numbers);
[[nodiscard]] std::vector<double> broadcast_numbers(Communicator& communicator,
                                                    const std::vector<double>& numbers);

}  // namespace paceline::runtime
