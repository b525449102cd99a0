#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "core/rates.hpp"
#include "models/lowering/draft.hpp"
#include "models/schedules/ring.hpp"

namespace paceline::models {
namespace {

using core::MemoryCategory;
using core::OperationKind;
using core::Phase;

constexpr std::string_view world_name = "world";

TensorId add_flat(Draft& draft, std::string_view role, int bucket, MemoryCategory category,
                  std::int64_t elements) {
  return draft.add_tensor({.role = role,
                           .bucket = bucket,
                           .category = category,
                           .elements = elements,
                           .persistent = true});
}

void lay_into(Draft& draft, TensorId view, TensorId base, std::int64_t element_offset) {
  Tensor& tensor = draft.program.tensors[view.index()];
  tensor.base = base;
  tensor.offset = core::Bytes(element_offset * core::bytes_per_element(tensor.type));
}

/// Splits `ready_order` into runs of at most `limit` bytes, each of at least one parameter.
std::vector<std::vector<std::size_t>> bucket_members(const Draft& draft, core::Bytes limit) {
  std::vector<std::vector<std::size_t>> members;
  core::Bytes size;
  for (const std::size_t index : draft.ready_order) {
    const core::Bytes bytes = draft.program.at(draft.program.parameters[index]).bytes();
    if (members.empty() || size + bytes > limit) {
      members.emplace_back();
      size = {};
    }
    members.back().push_back(index);
    size += bytes;
  }
  return members;
}

std::int64_t sum_elements(const Draft& draft, const std::vector<std::size_t>& members) {
  std::int64_t elements = 0;
  for (const std::size_t index : members) elements += draft.specs[index].elements();
  return elements;
}

/// AdamW keeps two moments, SGD one if it has momentum.
void add_moments(Draft& draft, int number, Draft::Bucket& bucket) {
  const OptimizerSettings& optimizer = draft.program.optimizer;
  const bool adamw = optimizer.kind == core::OptimizerKind::adamw;
  if (adamw || optimizer.momentum > 0.0) {
    bucket.first_moment = add_flat(draft, adamw ? "first_moment" : "momentum", number,
                                   MemoryCategory::optimizer_state, bucket.elements);
  }
  if (adamw) {
    bucket.second_moment =
        add_flat(draft, "second_moment", number, MemoryCategory::optimizer_state, bucket.elements);
  }
}

}  // namespace

void pass_bucket(Draft& draft) {
  Program& program = draft.program;
  if (draft.ready_order.size() != draft.specs.size()) {
    throw core::InvariantError("gradients of " + std::to_string(draft.ready_order.size()) +
                               " parameters are made, of " + std::to_string(draft.specs.size()) +
                               " that the model has");
  }
  const core::Bytes limit = core::mib(draft.experiment.parallel.bucket_mib);
  const bool training = !program.gradients.empty();
  for (const auto& members : bucket_members(draft, limit)) {
    const int number = static_cast<int>(draft.buckets.size());
    const std::int64_t elements = sum_elements(draft, members);
    Draft::Bucket bucket{.elements = elements, .last_parameter = members.back()};
    bucket.parameters = add_flat(draft, "flat", number, MemoryCategory::parameters, elements);
    if (training) {
      bucket.gradients = add_flat(draft, "flat", number, MemoryCategory::gradients, elements);
      add_moments(draft, number, bucket);
    }
    std::int64_t offset = 0;
    for (const std::size_t index : members) {
      lay_into(draft, program.parameters[index], bucket.parameters, offset);
      if (training) lay_into(draft, program.gradients[index], bucket.gradients, offset);
      offset += draft.specs[index].elements();
    }
    draft.buckets.push_back(bucket);
  }
}

void pass_communicate(Draft& draft) {
  Program& program = draft.program;
  if (program.world_size == 1) return;
  Communicator world{.name = std::string(world_name)};
  for (int rank = 0; rank < program.world_size; ++rank) world.ranks.push_back(rank);
  program.communicators.push_back(world);

  std::int64_t largest_slice = 0;
  for (const Draft::Bucket& bucket : draft.buckets) {
    largest_slice =
        std::max(largest_slice, ring_slice_elements(program.world_size, bucket.elements));
  }
  const TensorId receive_buffer = draft.add_tensor({.role = "receive_buffer",
                                                    .category = MemoryCategory::communication,
                                                    .elements = largest_slice,
                                                    .persistent = true});
  const bool overlap = draft.experiment.parallel.overlap;
  const auto collective = [&](std::size_t number) {
    return Operation{.kind = OperationKind::all_reduce,
                     .phase = Phase::communication,
                     .stream = overlap ? core::Stream::communication : core::Stream::compute,
                     .bucket = static_cast<int>(number),
                     .role = "all_reduce",
                     .shape = CollectiveShape{.communicator = CommunicatorId(0),
                                              .sequence = static_cast<std::int64_t>(number),
                                              .elements = draft.buckets[number].elements},
                     .inputs = {draft.buckets[number].gradients, receive_buffer},
                     .outputs = {draft.buckets[number].gradients}};
  };
  if (!overlap) {
    for (std::size_t number = 0; number < draft.buckets.size(); ++number) {
      draft.add_operation(collective(number));
    }
    return;
  }
  // Bucket n is complete after the last operation that writes its last parameter's gradient.
  std::vector<Operation> merged;
  std::size_t next = 0;
  const auto completed_at = [&](std::size_t number) {
    const TensorId last = program.gradients[draft.buckets[number].last_parameter];
    std::size_t position = 0;
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const TensorList& outputs = program.operations[i].outputs;
      if (std::find(outputs.begin(), outputs.end(), last) != outputs.end()) position = i;
    }
    return position;
  };
  std::vector<std::size_t> positions;
  positions.reserve(draft.buckets.size());
  for (std::size_t number = 0; number < draft.buckets.size(); ++number) {
    positions.push_back(completed_at(number));
  }
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    merged.push_back(program.operations[i]);
    while (next < positions.size() && positions[next] == i) merged.push_back(collective(next++));
  }
  program.operations = std::move(merged);
}

void pass_clip(Draft& draft) {
  if (!draft.program.optimizer.clip_norm) return;
  const auto count = static_cast<std::int64_t>(draft.buckets.size());
  const TensorId squares = draft.add_tensor(
      {.role = "squares", .category = MemoryCategory::optimizer_state, .elements = count});
  const TensorId coefficient = draft.add_tensor(
      {.role = "clip_coefficient", .category = MemoryCategory::optimizer_state, .elements = 1});
  const auto operation = [&](OperationKind kind, std::string_view role, int bucket,
                             std::int64_t elements, TensorList inputs, TensorList outputs) {
    draft.add_operation({.kind = kind,
                         .phase = Phase::optimizer,
                         .bucket = bucket,
                         .role = role,
                         .shape = ElementsShape{elements},
                         .inputs = inputs,
                         .outputs = outputs});
  };
  for (int number = 0; number < static_cast<int>(count); ++number) {
    const Draft::Bucket& bucket = draft.buckets[static_cast<std::size_t>(number)];
    const TensorId square = draft.add_tensor({.role = "square",
                                              .bucket = number,
                                              .category = MemoryCategory::optimizer_state,
                                              .elements = 1});
    lay_into(draft, square, squares, number);
    operation(OperationKind::gradient_norm, "gradient_norm", number, bucket.elements,
              {bucket.gradients}, {square});
  }
  operation(OperationKind::clip_coefficient, "clip_coefficient", -1, count, {squares},
            {coefficient});
  for (int number = 0; number < static_cast<int>(count); ++number) {
    const Draft::Bucket& bucket = draft.buckets[static_cast<std::size_t>(number)];
    operation(OperationKind::scale, "clip", number, bucket.elements,
              {bucket.gradients, coefficient}, {bucket.gradients});
  }
}

void pass_optimize(Draft& draft) {
  const bool adamw = draft.program.optimizer.kind == core::OptimizerKind::adamw;
  for (std::size_t number = 0; number < draft.buckets.size(); ++number) {
    const Draft::Bucket& bucket = draft.buckets[number];
    TensorList state{bucket.parameters};
    if (bucket.first_moment.valid()) state.push_back(bucket.first_moment);
    if (bucket.second_moment.valid()) state.push_back(bucket.second_moment);
    TensorList inputs{bucket.gradients};
    for (const TensorId id : state) inputs.push_back(id);
    draft.add_operation({.kind = adamw ? OperationKind::adamw : OperationKind::sgd,
                         .phase = Phase::optimizer,
                         .bucket = static_cast<int>(number),
                         .role = adamw ? "adamw" : "sgd",
                         .shape = ElementsShape{bucket.elements},
                         .inputs = inputs,
                         .outputs = state});
  }
}

namespace {

core::Flops product_flops(const Operation& operation) {
  if (const auto* s = std::get_if<MatmulShape>(&operation.shape)) {
    return core::Flops(2 * s->batch * s->m * s->n * s->k);
  }
  if (const auto* s = std::get_if<AttentionShape>(&operation.shape)) {
    const std::int64_t product =
        2 * s->batch * s->heads * s->tokens * s->tokens * s->head_dimension;
    return core::Flops(operation.kind == OperationKind::attention ? 2 * product : 4 * product);
  }
  return {};
}

void count_collective(const Program& program, Operation& operation, const CollectiveShape& shape) {
  const Communicator& communicator = program.at(shape.communicator);
  const auto member = std::find(communicator.ranks.begin(), communicator.ranks.end(), program.rank);
  const auto steps = ring_all_reduce(static_cast<int>(member - communicator.ranks.begin()),
                                     static_cast<int>(communicator.ranks.size()), shape.elements);
  const std::int64_t size = core::bytes_per_element(shape.type);
  for (const ScheduleStep& step : steps) {
    operation.bytes_read += core::Bytes(step.send_elements * size);
    operation.bytes_written += core::Bytes(step.receive_elements * size);
  }
}

void count_tensors(const Program& program, Operation& operation) {
  for (const TensorId id : operation.inputs) operation.bytes_read += program.at(id).bytes();
  for (const TensorId id : operation.outputs) {
    const Tensor& tensor = program.at(id);
    if (tensor.category == MemoryCategory::workspace) continue;  // stays in the cache
    operation.bytes_written += tensor.bytes();
    if (operation.accumulate && tensor.persistent) operation.bytes_read += tensor.bytes();
  }
}

/// Only the class token's rows move.
void count_class_token(Operation& operation, const TokensShape& shape) {
  const core::Bytes rows(shape.images * shape.width *
                         core::bytes_per_element(core::DataType::fp32));
  operation.bytes_read = rows;
  if (operation.kind == OperationKind::select_class_token) operation.bytes_written = rows;
}

}  // namespace

void pass_count_work(Draft& draft) {
  for (Operation& operation : draft.program.operations) {
    operation.flops = product_flops(operation);
    if (operation.states_bytes) continue;
    operation.bytes_read = {};
    operation.bytes_written = {};
    if (const auto* collective = std::get_if<CollectiveShape>(&operation.shape)) {
      count_collective(draft.program, operation, *collective);
      continue;
    }
    count_tensors(draft.program, operation);
    if (operation.kind == OperationKind::select_class_token ||
        operation.kind == OperationKind::select_class_token_gradient) {
      count_class_token(operation, std::get<TokensShape>(operation.shape));
    }
  }
}

void pass_depend(Draft& draft) {
  Program& program = draft.program;
  program.dependencies.clear();
  program.dependency_offsets.assign(1, 0);
  // Who wrote each storage last, by stream; a reader or writer on another stream waits for it.
  std::vector<std::optional<OperationId>> last_writer(program.tensors.size());
  const auto storage = [&](TensorId id) {
    const TensorId base = program.at(id).base;
    return base.valid() ? base : id;
  };
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const Operation& operation = program.operations[i];
    std::optional<OperationId> latest;
    const auto consider = [&](TensorId id) {
      const auto& writer = last_writer[storage(id).index()];
      if (!writer || program.at(*writer).stream == operation.stream) return;
      if (!latest || *latest < *writer) latest = writer;
    };
    for (const TensorId id : operation.inputs) consider(id);
    for (const TensorId id : operation.outputs) consider(id);
    if (latest) program.dependencies.push_back(*latest);
    program.dependency_offsets.push_back(static_cast<std::uint32_t>(program.dependencies.size()));
    for (const TensorId id : operation.outputs) last_writer[storage(id).index()] = OperationId(i);
  }
}

}  // namespace paceline::models
