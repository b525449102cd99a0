#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "models/program.hpp"

/// What every kernel does with its arguments: checks their sizes and counts what it read and wrote.
namespace paceline::runtime::kernels {

/// Whether a kernel replaces what its parameter-gradient or loss output holds, or adds to it.
enum class Write : std::uint8_t { overwrite, add };

/// Throws `core::InvariantError` unless `values` holds `expected` elements.
template <class T>
void require_size(std::string_view kernel, std::string_view operand, std::span<T> values,
                  std::int64_t expected) {
  if (static_cast<std::int64_t>(values.size()) == expected) return;
  throw core::InvariantError(std::string(kernel) + ": " + std::string(operand) + " holds " +
                             std::to_string(values.size()) + " elements (its shape needs " +
                             std::to_string(expected) + ")");
}

template <class... T>
void count_read(models::WorkCount& count, std::span<T>... spans) {
  ((count.bytes_read += core::Bytes(static_cast<std::int64_t>(spans.size_bytes()))), ...);
}

template <class... T>
void count_written(models::WorkCount& count, std::span<T>... spans) {
  ((count.bytes_written += core::Bytes(static_cast<std::int64_t>(spans.size_bytes()))), ...);
}

/// Outputs that `write` may add to: then they are read as well.
template <class... T>
void count_updated(models::WorkCount& count, Write write, std::span<T>... spans) {
  count_written(count, spans...);
  if (write == Write::add) count_read(count, spans...);
}

/// A matrix product of these dimensions.
[[nodiscard]] inline core::Flops product_flops(std::int64_t m, std::int64_t n, std::int64_t k) {
  return core::Flops(2 * m * n * k);
}

}  // namespace paceline::runtime::kernels
