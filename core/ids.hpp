#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace paceline::core {

/// An index that knows what it counts: an operation's id cannot be passed as a tensor's.
template <class Of>
class OpaqueId {
 public:
  constexpr OpaqueId() = default;
  constexpr explicit OpaqueId(std::size_t index) : index_(static_cast<std::uint32_t>(index)) {}

  [[nodiscard]] constexpr bool valid() const { return index_ != invalid_index; }
  [[nodiscard]] constexpr std::size_t index() const { return index_; }

  constexpr auto operator<=>(const OpaqueId&) const = default;

 private:
  static constexpr std::uint32_t invalid_index = UINT32_MAX;
  std::uint32_t index_ = invalid_index;
};

}  // namespace paceline::core
