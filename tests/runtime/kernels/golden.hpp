#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/experiment.hpp"
#include "training_run.hpp"

namespace paceline::runtime::kernels {

/// What timm computed for one model: tests/golden/README.md.
class Golden {
 public:
  /// Reads tests/golden/`name`.json and .bin.
  explicit Golden(const std::string& name);

  [[nodiscard]] const models::Experiment& experiment() const { return experiment_; }
  [[nodiscard]] const Batch& batch() const { return batch_; }
  /// Loss before each AdamW step.
  [[nodiscard]] const std::vector<double>& losses() const { return losses_; }
  /// A tensor by its name in the file; throws if there is none.
  [[nodiscard]] std::vector<double> tensor(const std::string& name) const;

 private:
  struct Entry {
    std::string name, type;
    std::size_t offset = 0;
    std::size_t elements = 0;
  };

  models::Experiment experiment_;
  Batch batch_;
  std::vector<double> losses_;
  std::vector<Entry> entries_;
  std::string bytes_;
};

}  // namespace paceline::runtime::kernels
