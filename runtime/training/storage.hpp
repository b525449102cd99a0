#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/quantity.hpp"
#include "models/program.hpp"

namespace paceline::runtime {

/// What memory holds that no operation has written yet.
enum class FreshMemory : std::uint8_t {
  untouched,  // as the system gives it: pages count as resident only once they are used
  poisoned    // every bit set, which reads as NaN: tests and debugging
};

/// The memory of a Program: one allocation, laid out by `models::plan_memory`, 64-byte aligned.
/// Persistent tensors start as zero. `Scalar` holds each fp32 tensor's elements: float, or double
/// for numeric tests, where every offset doubles; int32 tensors stay int32.
/// Keeps no reference to the Program.
template <class Scalar>
class Storage {
 public:
  explicit Storage(const models::Program& program, FreshMemory fresh = FreshMemory::untouched);

  /// Elements of an fp32 tensor. Throw `core::InvariantError` if there is no such tensor or it is
  /// of another type.
  [[nodiscard]] std::span<Scalar> values(models::TensorId id);
  [[nodiscard]] std::span<const Scalar> values(models::TensorId id) const;
  /// Elements of an int32 tensor; errors as above.
  [[nodiscard]] std::span<std::int32_t> integers(models::TensorId id);
  [[nodiscard]] std::span<const std::int32_t> integers(models::TensorId id) const;

  /// Size of the allocation.
  [[nodiscard]] core::Bytes size() const { return size_; }

 private:
  struct Place {
    std::size_t offset = 0;  // in bytes of this storage
    std::size_t elements = 0;
    core::DataType type{};
  };
  struct Free {
    void operator()(std::byte* memory) const;
  };

  [[nodiscard]] const Place& place_of(models::TensorId id, core::DataType type) const;

  std::vector<Place> places_;
  core::Bytes size_;
  std::unique_ptr<std::byte, Free> memory_;
};

extern template class Storage<float>;
extern template class Storage<double>;

}  // namespace paceline::runtime
