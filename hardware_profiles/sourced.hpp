#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "core/vocabulary.hpp"

namespace paceline::hardware_profiles {

/// How far a number can be trusted; gpus/README.md says what each word means.
enum class Certainty : std::uint8_t { stated, measured, derived, recalled, assumed };

/// A document, or an act, that numbers come from.
struct Source {
  std::string title;
  Certainty certainty = Certainty::assumed;
};
using Sources = std::map<std::string, Source>;

/// A value, the id of its source in the `sources` of the same file, and that source's certainty.
template <class T>
struct Sourced {
  T value{};
  std::string source;
  Certainty certainty = Certainty::assumed;

  bool operator==(const Sourced&) const = default;
};

}  // namespace paceline::hardware_profiles

namespace paceline::core {

template <>
struct Spelling<hardware_profiles::Certainty> {
  static constexpr std::array words{"stated", "measured", "derived", "recalled", "assumed"};
};

}  // namespace paceline::core
