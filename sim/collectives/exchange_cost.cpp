#include "sim/collectives/exchange_cost.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/rates.hpp"
#include "sim/compute/microseconds.hpp"

namespace paceline::sim {
namespace {

using hardware_profiles::ExchangePoint;

double size_of(const ExchangePoint& point) { return static_cast<double>(point.bytes.value()); }

double beyond_us(const std::vector<ExchangePoint>& table, double bytes, core::ByteRate bandwidth) {
  const ExchangePoint& last = table.back();
  double us_per_byte = 0;
  if (table.size() > 1) {
    const ExchangePoint& previous = table[table.size() - 2];
    us_per_byte = (last.time_us - previous.time_us) / (size_of(last) - size_of(previous));
  } else if (bandwidth.value() > 0) {
    us_per_byte = 1e6 / bandwidth.value();
  }
  return last.time_us + std::max(0.0, us_per_byte) * (bytes - size_of(last));
}

}  // namespace

double interpolated_us(const std::vector<ExchangePoint>& table, core::Bytes bytes,
                       core::ByteRate bandwidth) {
  const auto next = std::lower_bound(
      table.begin(), table.end(), bytes,
      [](const ExchangePoint& point, core::Bytes wanted) { return point.bytes < wanted; });
  const auto wanted = static_cast<double>(bytes.value());
  if (next == table.end()) return beyond_us(table, wanted, bandwidth);
  if (next == table.begin() || next->bytes == bytes) return next->time_us;
  const ExchangePoint& low = *(next - 1);
  if (size_of(low) <= 0 || low.time_us <= 0 || next->time_us <= 0) {  // no logarithm
    const double share = (wanted - size_of(low)) / (size_of(*next) - size_of(low));
    return low.time_us + share * (next->time_us - low.time_us);
  }
  const double share = std::log(wanted / size_of(low)) / std::log(size_of(*next) / size_of(low));
  return low.time_us * std::pow(next->time_us / low.time_us, share);
}

core::Time ExchangeCost::time_of(int from_rank, int to_rank, core::Bytes bytes) {
  const Way& way = this->way(from_rank, to_rank);
  if (!way.table.empty()) {
    return time_of_us(interpolated_us(way.table, bytes, way.bandwidth), "an exchange");
  }
  if (way.bandwidth.value() <= 0) return way.latency;  // one place, nothing to cross
  const double us = static_cast<double>(bytes.value()) / way.bandwidth.value() * 1e6;
  if (us > core::time_limit.us()) return time_of_us(us, "an exchange");  // throws
  return sum_within_limit(way.latency, core::transfer_time(bytes, way.bandwidth), "an exchange");
}

const ExchangeCost::Way& ExchangeCost::way(int from_rank, int to_rank) {
  const auto [entry, inserted] = ways_.try_emplace({from_rank, to_rank});
  if (!inserted) return entry->second;
  const auto vertex = [&](int rank) {
    return cluster_.slots.at(static_cast<std::size_t>(rank)).vertex;
  };
  const auto links = cluster_.route(vertex(from_rank), vertex(to_rank));
  Way& way = entry->second;
  for (const hardware_profiles::LinkId id : links) {
    const hardware_profiles::Link& link = cluster_.links.at(id.index());
    way.latency += link.latency;
    const bool narrower = way.bandwidth.value() <= 0 || link.bandwidth < way.bandwidth;
    if (narrower) way.bandwidth = link.bandwidth;
  }
  if (links.size() == 1) {
    way.table = cluster_.links.at(links.front().index()).measured;
    std::sort(way.table.begin(), way.table.end(),
              [](const ExchangePoint& a, const ExchangePoint& b) { return a.bytes < b.bytes; });
  }
  return way;
}

}  // namespace paceline::sim
