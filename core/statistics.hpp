#pragma once

#include <vector>

namespace paceline::core {

/// The value below which a share `q` of the values lies, linear between neighbours (type 7 of
/// Hyndman and Fan 1996). Throws `InvariantError` if there is no value or q is not in [0, 1].
[[nodiscard]] double quantile(std::vector<double> values, double q);

[[nodiscard]] double median(std::vector<double> values);

[[nodiscard]] double mean(const std::vector<double>& values);

}  // namespace paceline::core
