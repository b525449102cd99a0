#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace paceline::test {

/// The faults with which `call` refuses its input; none if it accepts.
template <class Call>
[[nodiscard]] std::vector<core::Fault> faults_of(Call&& call) {
  try {
    static_cast<void>(std::forward<Call>(call)());
  } catch (const core::ConfigError& error) {
    return error.faults();
  }
  return {};
}

/// The message with which `call` throws an `Exception`; "no exception" if it does not.
template <class Exception, class Call>
[[nodiscard]] std::string message_of(Call&& call) {
  try {
    static_cast<void>(std::forward<Call>(call)());
  } catch (const Exception& error) {
    return error.what();
  }
  return "no exception";
}

}  // namespace paceline::test
