#include "core/error.hpp"

#include <utility>

namespace paceline::core {
namespace {

std::string joined(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) {
    if (!text.empty()) text += '\n';
    text += fault.text();
  }
  return text;
}

}  // namespace

std::string Fault::text() const {
  std::string place = file;
  if (!pointer.empty()) place += (pointer.front() == '/' ? "#" : "") + pointer;
  return place.empty() ? problem : place + ": " + problem;
}

ConfigError::ConfigError(std::vector<Fault> faults)
    : std::runtime_error(joined(faults)), faults_(std::move(faults)) {}

ConfigError::ConfigError(std::string file, std::string pointer, std::string problem)
    : ConfigError(std::vector<Fault>{{std::move(file), std::move(pointer), std::move(problem)}}) {}

}  // namespace paceline::core
