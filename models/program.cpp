#include "models/program.hpp"

#include <algorithm>
#include <map>
#include <type_traits>

#include "core/error.hpp"
#include "core/file.hpp"

namespace paceline::models {
namespace {

std::string place_name(int micro_step, int layer, int bucket, std::string_view role,
                       std::string_view suffix) {
  std::string name;
  const auto add = [&name](std::string_view word, int number) {
    if (number < 0) return;
    name.append(word).append(std::to_string(number)) += '.';
  };
  add("m", micro_step);
  add("blocks.", layer);
  add("bucket", bucket);
  return name.append(role).append(suffix);
}

/// Text that changes whenever something that an interpreter sees changes.
class Digest {
 public:
  void add(std::string_view text) {
    text_.append(text);
    text_ += '\n';
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  void add(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      text_.append(reinterpret_cast<const char*>(&value), sizeof value);  // exact bits
    } else {
      text_ += std::to_string(value);
    }
    text_ += ',';
  }
  template <class T>
  void add(core::OpaqueId<T> id) {
    add(id.valid() ? static_cast<std::int64_t>(id.index()) : -1);
  }
  template <class Unit, class Rep>
  void add(core::Quantity<Unit, Rep> quantity) {
    add(quantity.value());
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void add(Enum value) {
    add(static_cast<int>(value));
  }
  template <class... Parts>
  void add_all(const Parts&... parts) {
    (add(parts), ...);
  }
  [[nodiscard]] std::string hash() const { return core::hash_text(text_); }

 private:
  std::string text_;
};

struct ShapeDigest {
  Digest& digest;
  void operator()(std::monostate) const {}
  void operator()(const MatmulShape& s) const { digest.add_all(s.m, s.n, s.k, s.a, s.b, s.batch); }
  void operator()(const RowsShape& s) const { digest.add_all(s.rows, s.width); }
  void operator()(const AttentionShape& s) const {
    digest.add_all(s.batch, s.heads, s.tokens, s.head_dimension);
  }
  void operator()(const ElementsShape& s) const { digest.add(s.elements); }
  void operator()(const PatchShape& s) const {
    digest.add_all(s.images, s.channels, s.image_size, s.patch_size);
  }
  void operator()(const TokensShape& s) const { digest.add_all(s.images, s.tokens, s.width); }
  void operator()(const LossShape& s) const { digest.add_all(s.images, s.classes, s.image_weight); }
  void operator()(const CollectiveShape& s) const {
    digest.add_all(s.communicator, s.sequence, s.elements, s.type, s.algorithm);
  }
};

}  // namespace

std::string Operation::name() const {
  return std::string(core::spelling(phase)) + "." +
         place_name(micro_step, layer, bucket, role, suffix);
}

std::string Tensor::name() const {
  return std::string(core::spelling(category)) + "." +
         place_name(micro_step, layer, bucket, role, suffix);
}

std::span<const OperationId> Program::dependencies_of(OperationId id) const {
  const std::size_t first = dependency_offsets.at(id.index());
  const std::size_t last = dependency_offsets.at(id.index() + 1);
  return std::span(dependencies).subspan(first, last - first);
}

std::string Program::hash() const {
  Digest digest;
  const VitArchitecture& a = architecture;
  digest.add(interpreter);
  digest.add_all(a.image_size, a.patch_size, a.channels, a.width, a.depth, a.heads, a.mlp_hidden,
                 a.classes, a.class_token, a.gelu, a.layer_norm_epsilon);
  digest.add_all(rank, world_size, micro_batch, accumulation_steps, global_batch);
  digest.add_all(optimizer.kind, optimizer.learning_rate, optimizer.beta1, optimizer.beta2,
                 optimizer.epsilon, optimizer.weight_decay, optimizer.momentum,
                 optimizer.clip_norm.value_or(0.0));
  for (const Tensor& tensor : tensors) {
    digest.add(tensor.name());
    digest.add_all(tensor.type, tensor.elements, tensor.base, tensor.offset, tensor.persistent,
                   tensor.until_end, tensor.held_until);
  }
  for (const Operation& operation : operations) {
    digest.add(operation.name());
    digest.add(operation.operator_name);
    digest.add_all(operation.kind, operation.type, operation.launches, operation.recomputed,
                   operation.stream, operation.accumulate, operation.flops, operation.bytes_read,
                   operation.bytes_written);
    digest.add(operation.shape.index());
    std::visit(ShapeDigest{digest}, operation.shape);
    for (const TensorId id : operation.inputs) digest.add(id);
    digest.add("->");
    for (const TensorId id : operation.outputs) digest.add(id);
  }
  for (const Communicator& communicator : communicators) {
    digest.add(communicator.name);
    for (const int member : communicator.ranks) digest.add(member);
  }
  for (const TensorId id : parameters) digest.add(id);
  digest.add("gradients");
  for (const TensorId id : gradients) digest.add(id);
  digest.add("dependencies");
  for (const OperationId id : dependencies) digest.add(id);
  for (const std::uint32_t offset : dependency_offsets) digest.add(offset);
  return digest.hash();
}

WorkByKind work_by_kind(const Program& program) {
  WorkByKind work;
  for (const Operation& operation : program.operations) {
    WorkCount& count = work[operation.kind];
    ++count.calls;
    count.flops += operation.flops;
    count.bytes_read += operation.bytes_read;
    count.bytes_written += operation.bytes_written;
  }
  return work;
}

namespace {

struct IssuedCollective {
  std::string name;
  core::OperationKind kind;
  CollectiveShape shape;
};

/// The collectives of one rank in one communicator, in issue order.
std::vector<IssuedCollective> collectives_in(const Program& program, const Communicator& wanted) {
  std::vector<IssuedCollective> issued;
  for (const Operation& operation : program.operations) {
    const auto* shape = std::get_if<CollectiveShape>(&operation.shape);
    if (shape == nullptr) continue;
    if (program.at(shape->communicator).name == wanted.name) {
      issued.push_back({operation.name(), operation.kind, *shape});
    }
  }
  return issued;
}

std::string described(const IssuedCollective& collective) {
  return collective.name + " (" + std::string(core::spelling(collective.kind)) + ", " +
         std::string(core::spelling(collective.shape.algorithm)) + ", " +
         std::to_string(collective.shape.elements) + " × " +
         std::string(core::spelling(collective.shape.type)) + ", number " +
         std::to_string(collective.shape.sequence) + ")";
}

bool same(const IssuedCollective& a, const IssuedCollective& b) {
  return a.kind == b.kind && a.shape.sequence == b.shape.sequence &&
         a.shape.elements == b.shape.elements && a.shape.type == b.shape.type &&
         a.shape.algorithm == b.shape.algorithm;
}

void compare_members(const Communicator& communicator, int first_rank,
                     const std::vector<IssuedCollective>& expected, int rank,
                     const std::vector<IssuedCollective>& issued) {
  const std::string place = "communicator \"" + communicator.name + "\": ";
  for (std::size_t i = 0; i < std::max(expected.size(), issued.size()); ++i) {
    const bool both = i < expected.size() && i < issued.size();
    if (both && same(expected[i], issued[i])) continue;
    const auto text = [&](const std::vector<IssuedCollective>& list) {
      return i < list.size() ? "issues " + described(list[i])
                             : "has issued all of its " + std::to_string(list.size());
    };
    throw core::RunError(place + "rank " + std::to_string(rank) + " " + text(issued) +
                         " where rank " + std::to_string(first_rank) + " " + text(expected) +
                         " (members must issue the same collectives in the same order)");
  }
}

}  // namespace

void check_communicators(std::span<const Program> programs) {
  std::map<std::string, Communicator> communicators;
  for (const Program& program : programs) {
    for (const Communicator& communicator : program.communicators) {
      const auto [known, inserted] = communicators.emplace(communicator.name, communicator);
      if (!inserted && known->second.ranks != communicator.ranks) {
        throw core::RunError("communicator \"" + communicator.name + "\": rank " +
                             std::to_string(program.rank) +
                             " lists other members than the ranks before it");
      }
    }
  }
  for (const auto& [name, communicator] : communicators) {
    for (const int rank : communicator.ranks) {
      if (rank >= 0 && static_cast<std::size_t>(rank) < programs.size()) continue;
      throw core::RunError("communicator \"" + name + "\": its member rank " +
                           std::to_string(rank) + " has no Program (there are " +
                           std::to_string(programs.size()) + ")");
    }
    const int first = communicator.ranks.at(0);
    const auto expected = collectives_in(programs[static_cast<std::size_t>(first)], communicator);
    for (const int rank : communicator.ranks) {
      compare_members(communicator, first, expected, rank,
                      collectives_in(programs[static_cast<std::size_t>(rank)], communicator));
    }
  }
}

}  // namespace paceline::models
