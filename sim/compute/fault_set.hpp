#pragma once

#include <vector>

#include "core/error.hpp"

namespace paceline::sim {

/// What a cluster lacks, each once: all ranks and all operations tend to miss the same things.
class FaultSet {
 public:
  void add(const core::Fault& fault);
  void add_all(const std::vector<core::Fault>& faults);
  [[nodiscard]] const std::vector<core::Fault>& list() const { return faults_; }
  /// Throws `core::ConfigError` with all of them if there is any.
  void throw_if_any() const;

 private:
  std::vector<core::Fault> faults_;
};

}  // namespace paceline::sim
