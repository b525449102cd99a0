#include "runtime/training/storage.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "core/error.hpp"
#include "models/memory_plan/memory_plan.hpp"

namespace paceline::runtime {
namespace {

constexpr std::align_val_t alignment{models::memory_plan_alignment};

}  // namespace

template <class Scalar>
void Storage<Scalar>::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, alignment);
}

template <class Scalar>
Storage<Scalar>::Storage(const models::Program& program, FreshMemory fresh) {
  constexpr std::size_t scale =
      sizeof(Scalar) / static_cast<std::size_t>(core::bytes_per_element(core::DataType::fp32));
  const models::MemoryPlan plan = models::plan_memory(program);
  const std::size_t bytes = static_cast<std::size_t>(plan.arena.value()) * scale;
  size_ = core::Bytes(static_cast<std::int64_t>(bytes));
  memory_.reset(static_cast<std::byte*>(::operator new(bytes, alignment)));
  if (fresh == FreshMemory::poisoned) std::memset(memory_.get(), 0xFF, bytes);
  places_.reserve(program.tensors.size());
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const models::Tensor& tensor = program.tensors[i];
    places_.push_back({.offset = static_cast<std::size_t>(plan.offsets[i].value()) * scale,
                       .elements = static_cast<std::size_t>(tensor.elements),
                       .type = tensor.type});
    const Place& place = places_.back();
    const std::size_t size = static_cast<std::size_t>(tensor.bytes().value()) * scale;
    if (place.offset + size > bytes) {
      throw core::InvariantError("tensor " + tensor.name() + " ends at byte " +
                                 std::to_string(place.offset + size) + " of a storage of " +
                                 std::to_string(bytes));
    }
    if (tensor.persistent) std::memset(memory_.get() + place.offset, 0, size);
  }
}

template <class Scalar>
auto Storage<Scalar>::place_of(models::TensorId id, core::DataType type) const -> const Place& {
  if (!id.valid() || id.index() >= places_.size()) {
    throw core::InvariantError("tensor " + std::to_string(id.index()) + " of a storage of " +
                               std::to_string(places_.size()) + " tensors is asked for");
  }
  const Place& place = places_[id.index()];
  if (place.type != type) {
    throw core::InvariantError("tensor " + std::to_string(id.index()) + " holds " +
                               std::string(core::spelling(place.type)) + " (asked for as " +
                               std::string(core::spelling(type)) + ")");
  }
  return place;
}

template <class Scalar>
std::span<Scalar> Storage<Scalar>::values(models::TensorId id) {
  const Place& place = place_of(id, core::DataType::fp32);
  return {reinterpret_cast<Scalar*>(memory_.get() + place.offset), place.elements};
}

template <class Scalar>
std::span<const Scalar> Storage<Scalar>::values(models::TensorId id) const {
  const Place& place = place_of(id, core::DataType::fp32);
  return {reinterpret_cast<const Scalar*>(memory_.get() + place.offset), place.elements};
}

template <class Scalar>
std::span<std::int32_t> Storage<Scalar>::integers(models::TensorId id) {
  const Place& place = place_of(id, core::DataType::int32);
  return {reinterpret_cast<std::int32_t*>(memory_.get() + place.offset), place.elements};
}

template <class Scalar>
std::span<const std::int32_t> Storage<Scalar>::integers(models::TensorId id) const {
  const Place& place = place_of(id, core::DataType::int32);
  return {reinterpret_cast<const std::int32_t*>(memory_.get() + place.offset), place.elements};
}

template class Storage<float>;
template class Storage<double>;

}  // namespace paceline::runtime
