#include "core/rates.hpp"

#include <string>

#include "core/error.hpp"

namespace paceline::core {
namespace {

Time amount_over_rate(double amount, double rate, const char* what) {
  if (!(rate > 0.0)) {
    throw InvariantError(std::string(what) + " rate is " + std::to_string(rate) +
                         " (must be > 0), so " + std::to_string(amount) + " would never end");
  }
  return Time::from_seconds(amount / rate);
}

double amount_over_time(double amount, Time duration, const char* what) {
  if (duration <= Time{}) {
    throw InvariantError(std::string(what) + " rate over " + std::to_string(duration.ps()) +
                         " ps (the duration must be > 0)");
  }
  return amount / duration.seconds();
}

}  // namespace

Time transfer_time(Bytes bytes, ByteRate rate) {
  return amount_over_rate(static_cast<double>(bytes.value()), rate.value(), "byte");
}

Time compute_time(Flops flops, FlopRate rate) {
  return amount_over_rate(static_cast<double>(flops.value()), rate.value(), "FLOP");
}

ByteRate rate_of(Bytes bytes, Time duration) {
  return ByteRate(amount_over_time(static_cast<double>(bytes.value()), duration, "byte"));
}

FlopRate rate_of(Flops flops, Time duration) {
  return FlopRate(amount_over_time(static_cast<double>(flops.value()), duration, "FLOP"));
}

}  // namespace paceline::core
