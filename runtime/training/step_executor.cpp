#include "runtime/training/step_executor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "runtime/kernels/execute.hpp"
#include "runtime/measure/clock.hpp"

namespace paceline::runtime {

using core::OperationKind;
using models::Operation;

StepExecutor::StepExecutor(const models::Program& program, Storage<float>& storage,
                           Communicator& communicator, BatchSource& source, StatusBoard* board,
                           std::int64_t first_image_of_rank, std::int64_t images_per_micro_step)
    : program_(program),
      storage_(storage),
      communicator_(communicator),
      source_(source),
      board_(board),
      first_image_of_rank_(first_image_of_rank),
      images_per_micro_step_(images_per_micro_step) {}

void StepExecutor::run_step(std::int64_t step, StepRecord& record) {
  const std::size_t operations = program_.operations.size();
  record.timeline.clear();
  record.timeline.reserve(2 * operations + 8);
  record.joined_ns.assign(operations, 0);
  record.left_ns.assign(operations, 0);
  record.counted = {};
  record.start_ns = now_ns();
  for (std::size_t index = 0; index < operations; ++index) {
    if (board_ != nullptr) board_->enter(step, static_cast<std::int64_t>(index));
    if (program_.operations[index].stream == core::Stream::communication) {
      enqueue(index, record);
      continue;
    }
    for (const models::OperationId wanted : program_.dependencies_of(models::OperationId(index))) {
      finish_pending_until(wanted, record);
    }
    const std::int64_t begin = now_ns();
    execute(index, step, record);
    append(TimelineEntry::What::operation, index, begin, now_ns(), record);
    if (!pending_.empty()) {
      const std::size_t polled = pending_.front();
      const std::int64_t poll_begin = now_ns();
      poll_pending(record);
      append(TimelineEntry::What::poll, polled, poll_begin, now_ns(), record);
    }
  }
  while (!pending_.empty()) finish_pending_until(models::OperationId(pending_.back()), record);
  if (board_ != nullptr) board_->enter(step, static_cast<std::int64_t>(operations));
  record.end_ns = record.timeline.empty() ? now_ns() : record.timeline.back().end_ns;
  for (std::size_t i = 0; i < program_.tensors.size(); ++i) {
    if (program_.tensors[i].persistent && program_.tensors[i].role == "loss") {
      record.loss = static_cast<double>(storage_.values(models::TensorId(i)).front());
    }
  }
}

void StepExecutor::execute(std::size_t index, std::int64_t step, StepRecord& record) {
  const Operation& operation = program_.operations[index];
  switch (operation.kind) {
    case OperationKind::load_batch:
      load_batch(operation, step, record);
      return;
    case OperationKind::all_reduce:
      run_to_end(index, record);
      return;
    default:
      kernels::execute<float>(program_, operation, storage_, step + 1, record.counted);
      if (operation.kind == OperationKind::cross_entropy) check_loss(index, step);
  }
}

void StepExecutor::check_loss(std::size_t index, std::int64_t step) const {
  const float loss = storage_.values(program_.operations[index].outputs[0]).front();
  if (std::isfinite(loss)) return;
  throw core::RunError(
      "the loss of step " + std::to_string(step) + " is " + std::to_string(loss) +
      ", and the first tensor that is not finite is " + first_not_finite(index) +
      " (lower /training/learning_rate, or look for values in the data that are not numbers)");
}

std::string StepExecutor::first_not_finite(std::size_t index) const {
  const auto is_finite = [&](models::TensorId id) {
    if (program_.at(id).type != core::DataType::fp32) return true;
    const std::span<const float> values = std::as_const(storage_).values(id);
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  };
  for (const models::TensorId id : program_.parameters) {
    if (!is_finite(id)) return "parameter " + program_.at(id).name();
  }
  // Memory of tensors that nobody reads any more holds others by now.
  const auto is_kept = [&](models::TensorId id) {
    return std::any_of(program_.operations.begin() + static_cast<std::ptrdiff_t>(index),
                       program_.operations.end(), [&](const Operation& later) {
                         return std::find(later.inputs.begin(), later.inputs.end(), id) !=
                                later.inputs.end();
                       });
  };
  for (std::size_t i = 0; i <= index; ++i) {
    for (const models::TensorId id : program_.operations[i].outputs) {
      if (is_kept(id) && !is_finite(id)) {
        return program_.at(id).name() + " of " + program_.operations[i].name();
      }
    }
  }
  return "the loss itself";
}

void StepExecutor::load_batch(const Operation& operation, std::int64_t step, StepRecord& record) {
  const std::span<float> images = storage_.values(operation.outputs[0]);
  const std::span<std::int32_t> labels = storage_.integers(operation.outputs[1]);
  const std::int64_t micro_steps_before = step * program_.accumulation_steps + operation.micro_step;
  source_.load(micro_steps_before * images_per_micro_step_ + first_image_of_rank_, images, labels);
  models::WorkCount& count = record.counted[operation.kind];
  ++count.calls;
  count.bytes_written +=
      core::Bytes(static_cast<std::int64_t>(images.size_bytes() + labels.size_bytes()));
}

RingAllReduce StepExecutor::start_ring(const Operation& operation) {
  const auto& shape = std::get<models::CollectiveShape>(operation.shape);
  return {communicator_, program_.at(shape.communicator).ranks,
          storage_.values(operation.inputs[0]), storage_.values(operation.inputs[1])};
}

void StepExecutor::count(const Operation& operation, const RingAllReduce& ring,
                         StepRecord& record) {
  models::WorkCount& count = record.counted[operation.kind];
  ++count.calls;
  count.bytes_read += ring.sent();
  count.bytes_written += ring.received();
}

void StepExecutor::run_to_end(std::size_t index, StepRecord& record) {
  const Operation& operation = program_.operations[index];
  record.joined_ns[index] = now_ns();
  RingAllReduce ring = start_ring(operation);
  while (!ring.poll()) {
  }
  record.left_ns[index] = now_ns();
  count(operation, ring, record);
}

void StepExecutor::enqueue(std::size_t index, StepRecord& record) {
  pending_.push_back(index);
  if (!ring_) start_next(record);
}

void StepExecutor::start_next(StepRecord& record) {
  const std::size_t index = pending_.front();
  record.joined_ns[index] = now_ns();
  ring_.emplace(start_ring(program_.operations[index]));
}

bool StepExecutor::poll_pending(StepRecord& record) {
  if (!ring_) throw core::InvariantError("a collective is pending and none was started");
  if (!ring_->poll()) return false;
  const std::size_t index = pending_.front();
  record.left_ns[index] = now_ns();
  count(program_.operations[index], *ring_, record);
  ring_.reset();
  pending_.pop_front();
  if (!pending_.empty()) start_next(record);
  return true;
}

void StepExecutor::finish_pending_until(models::OperationId wanted, StepRecord& record) {
  const auto is_pending = [&] {
    return std::find(pending_.begin(), pending_.end(), wanted.index()) != pending_.end();
  };
  while (is_pending()) {
    const std::size_t index = pending_.front();
    const std::int64_t begin = now_ns();
    while (!poll_pending(record)) {
    }
    append(TimelineEntry::What::finish_wait, index, begin, now_ns(), record);
  }
}

void StepExecutor::append(TimelineEntry::What what, std::size_t index, std::int64_t begin,
                          std::int64_t end, StepRecord& record) const {
  const std::int64_t issued =
      record.timeline.empty() ? record.start_ns : record.timeline.back().end_ns;
  record.timeline.push_back({what, static_cast<std::uint32_t>(index), issued, begin, end});
}

}  // namespace paceline::runtime
