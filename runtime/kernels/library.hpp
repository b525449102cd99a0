#pragma once

#include <string>

namespace paceline::runtime::kernels {

/// "Eigen 3.4.0", and the instruction sets that the kernels were compiled for.
[[nodiscard]] std::string library_text();
[[nodiscard]] std::string instruction_set_text();

}  // namespace paceline::runtime::kernels
