#include "models/memory_plan/memory_plan.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/error.hpp"

namespace paceline::models {
namespace {

TensorId base_of(const Program& program, TensorId id) {
  const TensorId base = program.at(id).base;
  return base.valid() ? base : id;
}

std::int64_t aligned(core::Bytes bytes) {
  return (bytes.value() + memory_plan_alignment - 1) / memory_plan_alignment *
         memory_plan_alignment;
}

class LifetimeFinder {
 public:
  explicit LifetimeFinder(const Program& program)
      : program_(program), found_(program.tensors.size()) {}

  std::vector<Lifetime> find() {
    for (std::size_t i = 0; i < program_.operations.size(); ++i) {
      const Operation& operation = program_.operations[i];
      for (const TensorId id : operation.inputs) read(id, i);
      for (const TensorId id : operation.outputs) touch(id, i);
      for (const OperationId other : program_.dependencies_of(OperationId(i))) {
        const Operation& waited = program_.at(other);
        for (const TensorId id : waited.inputs) touch(id, i);
        for (const TensorId id : waited.outputs) touch(id, i);
      }
    }
    return lifetimes();
  }

 private:
  void read(TensorId id, std::size_t position) {
    const TensorId base = base_of(program_, id);
    if (!program_.at(base).persistent && !found_[base.index()]) {
      throw core::InvariantError("operation " + program_.operations[position].name() +
                                 " reads tensor " + program_.at(id).name() +
                                 ", which no operation has written");
    }
    touch(id, position);
  }

  void touch(TensorId id, std::size_t position) {
    std::optional<Lifetime>& lifetime = found_[base_of(program_, id).index()];
    if (!lifetime) lifetime = Lifetime{position, position};
    lifetime->last = position;
  }

  std::vector<Lifetime> lifetimes() const {
    const std::size_t end = program_.operations.empty() ? 0 : program_.operations.size() - 1;
    std::vector<Lifetime> result(program_.tensors.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      const TensorId base = base_of(program_, TensorId(i));
      const std::optional<Lifetime>& lifetime = found_[base.index()];
      result[i] = program_.at(base).persistent || !lifetime ? Lifetime{0, end} : *lifetime;
      const Tensor& tensor = program_.at(base);
      if (tensor.until_end) result[i].last = end;
      if (tensor.held_until.valid()) {
        result[i].last = std::max(result[i].last, tensor.held_until.index());
      }
    }
    return result;
  }

  const Program& program_;
  std::vector<std::optional<Lifetime>> found_;
};

struct Block {
  std::int64_t begin;
  std::int64_t end;
};

/// The lowest offset at which `size` bytes miss all of `taken`, which is sorted by begin.
std::int64_t lowest_gap(const std::vector<Block>& taken, std::int64_t size) {
  std::int64_t offset = 0;
  for (const Block& block : taken) {
    if (block.begin - offset >= size) break;
    offset = std::max(offset, block.end);
  }
  return offset;
}

std::vector<std::size_t> bases_by_size(const Program& program) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    if (!program.tensors[i].base.valid()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return program.tensors[a].bytes() > program.tensors[b].bytes();
  });
  return order;
}

void place(const Program& program, MemoryPlan& plan) {
  std::vector<std::size_t> placed;
  std::vector<Block> taken;
  for (const std::size_t i : bases_by_size(program)) {
    const Lifetime& mine = plan.lifetimes[i];
    taken.clear();
    for (const std::size_t other : placed) {
      const Lifetime& theirs = plan.lifetimes[other];
      if (theirs.last < mine.first || mine.last < theirs.first) continue;
      const std::int64_t begin = plan.offsets[other].value();
      taken.push_back({begin, begin + aligned(program.tensors[other].bytes())});
    }
    std::sort(taken.begin(), taken.end(),
              [](const Block& a, const Block& b) { return a.begin < b.begin; });
    const std::int64_t size = aligned(program.tensors[i].bytes());
    const std::int64_t offset = lowest_gap(taken, size);
    plan.offsets[i] = core::Bytes(offset);
    plan.arena = std::max(plan.arena, core::Bytes(offset + size));
    placed.push_back(i);
  }
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    if (tensor.base.valid()) plan.offsets[i] = plan.offsets[tensor.base.index()] + tensor.offset;
  }
}

void find_peak(const Program& program, MemoryPlan& plan) {
  std::vector<std::int64_t> change(program.operations.size() + 1, 0);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    if (program.tensors[i].base.valid()) continue;
    const std::int64_t size = aligned(program.tensors[i].bytes());
    change[plan.lifetimes[i].first] += size;
    change[std::min(plan.lifetimes[i].last + 1, program.operations.size())] -= size;
  }
  std::int64_t alive = 0;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    alive += change[i];
    if (core::Bytes(alive) > plan.peak_alive) {
      plan.peak_alive = core::Bytes(alive);
      plan.peak_operation = i;
    }
  }
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    const Lifetime& life = plan.lifetimes[i];
    const bool alive_at_peak =
        life.first <= plan.peak_operation && plan.peak_operation <= life.last;
    if (tensor.base.valid() || !alive_at_peak) continue;
    plan.peak_by_category[tensor.category] += core::Bytes(aligned(tensor.bytes()));
  }
}

}  // namespace

MemoryPlan plan_memory(const Program& program) {
  MemoryPlan plan;
  plan.lifetimes = LifetimeFinder(program).find();
  plan.offsets.resize(program.tensors.size());
  place(program, plan);
  find_peak(program, plan);
  return plan;
}

PeakMemory peak_memory(const Program& program, core::Bytes granularity) {
  const std::vector<Lifetime> lifetimes = LifetimeFinder(program).find();
  const std::size_t count = program.operations.size();
  const auto size_of = [&](const Tensor& tensor) {
    const std::int64_t unit = granularity.value();
    return (tensor.bytes().value() + unit - 1) / unit * unit;
  };
  std::vector<std::int64_t> change(count + 1, 0);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    if (tensor.base.valid()) continue;
    change[lifetimes[i].first] += size_of(tensor);
    change[std::min(lifetimes[i].last + 1, count)] -= size_of(tensor);
  }
  PeakMemory peak;
  std::int64_t alive = 0;
  for (std::size_t i = 0; i < count; ++i) {
    alive += change[i];
    if (core::Bytes(alive) <= peak.total) continue;
    peak.total = core::Bytes(alive);
    peak.peak_operation = i;
  }
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    const bool lives =
        lifetimes[i].first <= peak.peak_operation && peak.peak_operation <= lifetimes[i].last;
    if (tensor.base.valid() || !lives) continue;
    peak.by_category[tensor.category] += core::Bytes(size_of(tensor));
  }
  return peak;
}

}  // namespace paceline::models
