#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/rates.hpp"
#include "models/lowering/lowering.hpp"
#include "tests/models/small_experiments.hpp"

namespace paceline::models {
namespace {

using core::Bytes;
using core::Flops;
using core::OperationKind;
using core::Phase;
using core::Stream;

/// Checks `property(experiment, program)` for every rank of every varied step.
template <class Property>
void for_each_program(Property property) {
  for (const Experiment& experiment : test::varied_experiments()) {
    SCOPED_TRACE(test::described(experiment));
    for (int rank = 0; rank < static_cast<int>(experiment.parallel.world_size); ++rank) {
      property(experiment, lower_training(experiment, rank));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

std::int64_t bucket_count(const Program& program) {
  return std::count_if(
      program.operations.begin(), program.operations.end(),
      [](const Operation& operation) { return operation.kind == OperationKind::adamw; });
}

Flops flops_of(const Program& program, Phase phase) {
  Flops sum;
  for (const Operation& operation : program.operations) {
    if (operation.phase == phase) sum += operation.flops;
  }
  return sum;
}

std::vector<Operation> all_reduces(const Program& program) {
  std::vector<Operation> found;
  for (const Operation& operation : program.operations) {
    if (operation.kind == OperationKind::all_reduce) found.push_back(operation);
  }
  return found;
}

TensorId storage(const Program& program, TensorId id) {
  return program.at(id).base.valid() ? program.at(id).base : id;
}

// One micro-step over L blocks. Forward: load, patchify, patch product, embed; per block 2 norms, 4
// products, attention, GELU, 2 sums = 10; norm, class token, head, loss. Together 8 + 10 L.
// Backward: loss; a product's input gradient, weight gradient and bias gradient for the head; class
// token; norm; per block 4 · 3 + attention + GELU + 2 norms + 2 sums = 18; embed; the patch
// product's weight and bias gradient. Together 9 + 18 L.
// Once a step: one AdamW a bucket, and one all-reduce a bucket where there are several ranks.
TEST(Lowering, operation_count_is_a_closed_form_in_depth_and_accumulation) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    const std::int64_t micro_step = 17 + 28 * experiment.model.depth;
    const std::int64_t a_bucket = experiment.parallel.world_size > 1 ? 2 : 1;
    ASSERT_EQ(
        static_cast<std::int64_t>(program.operations.size()),
        experiment.training.accumulation_steps * micro_step + a_bucket * bucket_count(program));
  });
}

// By kind, of the same list: products 2 + 4 L forward, 3 + 8 L backward.
TEST(Lowering, operation_counts_by_kind_are_closed_forms) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    const std::int64_t l = experiment.model.depth;
    const std::map<OperationKind, std::int64_t> in_a_micro_step{
        {OperationKind::load_batch, 1},
        {OperationKind::patchify, 1},
        {OperationKind::matmul, 5 + 12 * l},
        {OperationKind::bias_gradient, 2 + 4 * l},
        {OperationKind::embed_tokens, 1},
        {OperationKind::embed_tokens_gradient, 1},
        {OperationKind::layer_norm, 1 + 2 * l},
        {OperationKind::layer_norm_gradient, 1 + 2 * l},
        {OperationKind::attention, l},
        {OperationKind::attention_gradient, l},
        {OperationKind::gelu, l},
        {OperationKind::gelu_gradient, l},
        {OperationKind::add, 4 * l},
        {OperationKind::select_class_token, 1},
        {OperationKind::select_class_token_gradient, 1},
        {OperationKind::cross_entropy, 1},
        {OperationKind::cross_entropy_gradient, 1}};
    const WorkByKind work = work_by_kind(program);
    for (const auto& [kind, count] : in_a_micro_step) {
      ASSERT_EQ(work[kind].calls, experiment.training.accumulation_steps * count)
          << core::spelling(kind);
    }
  });
}

TEST(Lowering, flops_of_the_forward_pass_are_those_of_the_architecture) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    ASSERT_EQ(flops_of(program, Phase::forward),
              forward_flops(experiment.model, experiment.training.accumulation_steps *
                                                  experiment.micro_batch_of(program.rank)));
  });
}

// Each product y = x·W of 2mnk FLOPs has dx = dy·Wᵀ and dW = xᵀ·dy, 2mnk each; attention's two
// products have two each as well. Only the patch product, of 2·patches·(channels·p²)·width an
// image, has no dx: nobody needs the gradient of pixels.
TEST(Lowering, flops_of_the_backward_pass_are_twice_the_forward_pass_but_for_the_pixels) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    const VitArchitecture& model = experiment.model;
    const std::int64_t images = experiment.training.accumulation_steps * program.micro_batch;
    const Flops pixels(2 * model.patches() * model.patch_values() * model.width * images);
    ASSERT_EQ(flops_of(program, Phase::backward), 2 * flops_of(program, Phase::forward) - pixels);
  });
}

TEST(Lowering, nothing_else_counts_flops) {
  for_each_program([](const Experiment&, const Program& program) {
    for (const Phase phase : {Phase::data, Phase::communication, Phase::optimizer}) {
      ASSERT_EQ(flops_of(program, phase), Flops(0));
    }
  });
}

// fp32 gradients: four bytes a parameter, once a step, whatever the buckets and micro-steps.
TEST(Lowering, all_reduces_carry_each_gradient_once_a_step) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    std::int64_t bytes = 0;
    for (const Operation& operation : all_reduces(program)) {
      const auto& shape = std::get<CollectiveShape>(operation.shape);
      ASSERT_EQ(shape.type, core::DataType::fp32);
      bytes += shape.elements * core::bytes_per_element(shape.type);
    }
    const bool alone = experiment.parallel.world_size == 1;
    ASSERT_EQ(bytes, alone ? 0 : 4 * parameter_count(experiment.model));
  });
}

// A ring of W members moves 2 (W - 1) times all elements, over the sum of its members.
TEST(Lowering, ranks_send_together_what_the_ring_moves) {
  for (const Experiment& experiment : test::varied_experiments()) {
    SCOPED_TRACE(test::described(experiment));
    Bytes sent;
    Bytes received;
    for (const Program& program : test::programs_of_all_ranks(experiment)) {
      const WorkByKind work = work_by_kind(program);
      sent += work[OperationKind::all_reduce].bytes_read;
      received += work[OperationKind::all_reduce].bytes_written;
    }
    ASSERT_EQ(sent.value(),
              2 * (experiment.parallel.world_size - 1) * 4 * parameter_count(experiment.model));
    ASSERT_EQ(received, sent);
  }
}

TEST(Lowering, all_reduces_are_numbered_in_issue_order_within_the_world) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    const std::vector<Operation> collectives = all_reduces(program);
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      const auto& shape = std::get<CollectiveShape>(collectives[i].shape);
      ASSERT_EQ(shape.sequence, static_cast<std::int64_t>(i));
      ASSERT_EQ(collectives[i].bucket, static_cast<int>(i));
      ASSERT_EQ(program.at(shape.communicator).ranks.size(),
                static_cast<std::size_t>(experiment.parallel.world_size));
    }
  });
}

struct BucketMember {
  std::size_t parameter;  // in parameters_of
  Bytes offset;
  Bytes bytes;
};

/// By flat gradient storage, in the order of the buckets; members by offset.
std::vector<std::vector<BucketMember>> buckets_of(const Program& program) {
  std::map<std::size_t, std::vector<BucketMember>> by_base;
  for (std::size_t i = 0; i < program.gradients.size(); ++i) {
    const Tensor& gradient = program.at(program.gradients[i]);
    by_base[gradient.base.index()].push_back({i, gradient.offset, gradient.bytes()});
  }
  std::vector<std::vector<BucketMember>> buckets;
  for (auto& [base, members] : by_base) {
    std::sort(members.begin(), members.end(),
              [](const BucketMember& a, const BucketMember& b) { return a.offset < b.offset; });
    buckets.push_back(members);
  }
  return buckets;
}

TEST(Lowering, buckets_hold_at_most_their_size_or_one_larger_parameter) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    const Bytes limit = core::mib(experiment.parallel.bucket_mib);
    for (const auto& bucket : buckets_of(program)) {
      Bytes sum;
      for (const BucketMember& member : bucket) sum += member.bytes;
      ASSERT_TRUE(bucket.size() == 1 || sum <= limit) << sum.value();
    }
  });
}

TEST(Lowering, a_bucket_ends_only_where_the_next_parameter_does_not_fit) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    const Bytes limit = core::mib(experiment.parallel.bucket_mib);
    const auto buckets = buckets_of(program);
    for (std::size_t i = 0; i + 1 < buckets.size(); ++i) {
      Bytes sum;
      for (const BucketMember& member : buckets[i]) sum += member.bytes;
      ASSERT_GT(sum + buckets[i + 1].front().bytes, limit);
    }
  });
}

TEST(Lowering, buckets_are_dense_and_hold_every_parameter_once) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    std::set<std::size_t> seen;
    for (const auto& bucket : buckets_of(program)) {
      Bytes end;
      for (const BucketMember& member : bucket) {
        ASSERT_EQ(member.offset, end);
        end += member.bytes;
        ASSERT_TRUE(seen.insert(member.parameter).second);
      }
    }
    ASSERT_EQ(seen.size(), parameters_of(experiment.model).size());
  });
}

TEST(Lowering, parameters_and_gradients_have_the_same_layout) {
  for_each_program([](const Experiment&, const Program& program) {
    ASSERT_EQ(program.parameters.size(), program.gradients.size());
    for (std::size_t i = 0; i < program.parameters.size(); ++i) {
      const Tensor& parameter = program.at(program.parameters[i]);
      const Tensor& gradient = program.at(program.gradients[i]);
      ASSERT_EQ(parameter.offset, gradient.offset);
      ASSERT_EQ(program.at(parameter.base).bucket, program.at(gradient.base).bucket);
    }
  });
}

/// For each parameter the last operation that writes its gradient.
std::vector<std::size_t> completed_at(const Program& program) {
  std::vector<std::size_t> position(program.gradients.size(), 0);
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    for (const TensorId id : program.operations[i].outputs) {
      const auto found = std::find(program.gradients.begin(), program.gradients.end(), id);
      if (found == program.gradients.end()) continue;
      position[static_cast<std::size_t>(found - program.gradients.begin())] = i;
    }
  }
  return position;
}

TEST(Lowering, buckets_stand_in_the_order_in_which_gradients_are_completed) {
  for_each_program([](const Experiment&, const Program& program) {
    const std::vector<std::size_t> completed = completed_at(program);
    std::size_t last = 0;
    for (const auto& bucket : buckets_of(program)) {
      for (const BucketMember& member : bucket) {
        ASSERT_GE(completed[member.parameter], last);
        last = completed[member.parameter];
      }
    }
  });
}

TEST(Lowering, every_gradient_is_written_once_in_every_micro_step) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    std::map<std::pair<TensorId, int>, int> writes;
    for (const Operation& operation : program.operations) {
      if (operation.phase != Phase::backward) continue;
      for (const TensorId id : operation.outputs) ++writes[{id, operation.micro_step}];
    }
    for (const TensorId gradient : program.gradients) {
      for (int step = 0; step < static_cast<int>(experiment.training.accumulation_steps); ++step) {
        const int count = writes[{gradient, step}];
        ASSERT_EQ(count, 1) << program.at(gradient).name() << ", micro-step " << step;
      }
    }
  });
}

bool is_all_reduce(const Operation& operation) {
  return operation.kind == OperationKind::all_reduce;
}

std::vector<std::string> names_without_all_reduces(const Program& program) {
  std::vector<std::string> names;
  for (const Operation& operation : program.operations) {
    if (!is_all_reduce(operation)) names.push_back(operation.name());
  }
  return names;
}

TEST(Lowering, overlap_changes_only_stream_and_place_of_the_all_reduces) {
  for_each_program([](const Experiment& experiment, const Program& with) {
    if (!experiment.parallel.overlap) return;
    Experiment switched = experiment;
    switched.parallel.overlap = false;
    const Program without = lower_training(switched, with.rank);
    ASSERT_EQ(names_without_all_reduces(with), names_without_all_reduces(without));
    ASSERT_EQ(with.tensors.size(), without.tensors.size());
    const auto a = all_reduces(with);
    const auto b = all_reduces(without);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].name(), b[i].name());
      ASSERT_EQ(a[i].stream, Stream::communication);
      ASSERT_EQ(b[i].stream, Stream::compute);
      ASSERT_EQ(a[i].bytes_read, b[i].bytes_read);
      ASSERT_EQ(std::get<CollectiveShape>(a[i].shape).elements,
                std::get<CollectiveShape>(b[i].shape).elements);
    }
    // Put in the same place and on the same stream, the two Programs are one.
    Program moved = with;
    std::stable_partition(moved.operations.begin(), moved.operations.end(), [](const Operation& o) {
      return !is_all_reduce(o) && o.kind != OperationKind::adamw;
    });
    std::stable_partition(moved.operations.begin(), moved.operations.end(),
                          [](const Operation& o) { return o.kind != OperationKind::adamw; });
    for (Operation& operation : moved.operations) operation.stream = Stream::compute;
    moved.dependencies = without.dependencies;
    moved.dependency_offsets = without.dependency_offsets;
    ASSERT_EQ(moved.hash(), without.hash());
  });
}

TEST(Lowering, without_overlap_nothing_runs_beside_the_compute_stream) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    if (experiment.parallel.overlap) return;
    ASSERT_TRUE(program.dependencies.empty());
    for (const Operation& operation : program.operations) {
      ASSERT_EQ(operation.stream, Stream::compute);
    }
  });
}

TEST(Lowering, with_overlap_a_bucket_leaves_as_soon_as_it_is_complete) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    if (!experiment.parallel.overlap) return;
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      if (!is_all_reduce(program.operations[i])) continue;
      std::size_t before = i - 1;  // other buckets may be completed by the same operation
      while (is_all_reduce(program.operations[before])) --before;
      const TensorId buffer = program.operations[i].inputs[0];
      bool completes_this = false;
      for (const TensorId id : program.operations[before].outputs) {
        completes_this = completes_this || storage(program, id) == buffer;
      }
      ASSERT_TRUE(completes_this) << program.operations[i].name();
    }
  });
}

TEST(Lowering, names_are_unique_within_a_program) {
  for_each_program([](const Experiment&, const Program& program) {
    std::set<std::string> operations;
    for (const Operation& operation : program.operations) {
      ASSERT_TRUE(operations.insert(operation.name()).second) << operation.name();
    }
    std::set<std::string> tensors;
    for (const Tensor& tensor : program.tensors) {
      ASSERT_TRUE(tensors.insert(tensor.name()).second) << tensor.name();
    }
  });
}

TEST(Lowering, dependencies_point_backward_to_the_other_stream) {
  for_each_program([](const Experiment&, const Program& program) {
    ASSERT_EQ(program.dependency_offsets.size(), program.operations.size() + 1);
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      for (const OperationId other : program.dependencies_of(OperationId(i))) {
        ASSERT_LT(other.index(), i);
        ASSERT_NE(program.at(other).stream, program.operations[i].stream);
      }
    }
  });
}

/// The last operation before `position`, on the other stream, that wrote what `id` lies in.
std::size_t last_writer(const Program& program, std::size_t position, TensorId id) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < position; ++i) {
    if (program.operations[i].stream == program.operations[position].stream) continue;
    for (const TensorId output : program.operations[i].outputs) {
      if (storage(program, output) == storage(program, id)) last = i + 1;
    }
  }
  return last;
}

TEST(Lowering, nothing_is_read_before_the_other_stream_has_written_it) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    if (!experiment.parallel.overlap || experiment.parallel.world_size == 1) return;
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const Operation& operation = program.operations[i];
      if (!is_all_reduce(operation) && operation.kind != OperationKind::adamw) continue;
      std::size_t waited = 0;  // streams run in order, so the latest one covers those before it
      for (const OperationId other : program.dependencies_of(OperationId(i))) {
        waited = std::max(waited, other.index() + 1);
      }
      ASSERT_GE(waited, last_writer(program, i, operation.inputs[0])) << operation.name();
      ASSERT_GT(waited, 0U) << operation.name();
    }
  });
}

TEST(Lowering, only_micro_steps_after_the_first_accumulate) {
  for_each_program([](const Experiment&, const Program& program) {
    for (const Operation& operation : program.operations) {
      ASSERT_EQ(operation.accumulate, operation.micro_step > 0) << operation.name();
    }
  });
}

TEST(Lowering, each_image_weighs_one_over_the_global_batch) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    std::int64_t images = 0;
    for (int rank = 0; rank < static_cast<int>(experiment.parallel.world_size); ++rank) {
      images += experiment.micro_batch_of(rank) * experiment.training.accumulation_steps;
    }
    ASSERT_EQ(program.global_batch, images);
    for (const Operation& operation : program.operations) {
      if (const auto* loss = std::get_if<LossShape>(&operation.shape)) {
        ASSERT_EQ(loss->image_weight, 1.0 / static_cast<double>(images));
      }
    }
  });
}

TEST(Lowering, each_rank_computes_its_own_micro_batch) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    const std::int64_t images = experiment.micro_batch_of(program.rank);
    ASSERT_EQ(program.micro_batch, images);
    for (const Operation& operation : program.operations) {
      std::int64_t seen = images;
      if (const auto* s = std::get_if<LossShape>(&operation.shape)) seen = s->images;
      if (const auto* s = std::get_if<PatchShape>(&operation.shape)) seen = s->images;
      if (const auto* s = std::get_if<TokensShape>(&operation.shape)) seen = s->images;
      if (const auto* s = std::get_if<AttentionShape>(&operation.shape)) seen = s->batch;
      ASSERT_EQ(seen, images) << operation.name();
    }
  });
}

TEST(Lowering, ranks_with_unequal_batches_have_the_same_collectives_and_parameters) {
  for (const Experiment& experiment : test::varied_experiments()) {
    SCOPED_TRACE(test::described(experiment));
    const auto programs = test::programs_of_all_ranks(experiment);
    ASSERT_NO_THROW(check_communicators(programs));
    for (const Program& program : programs) {
      ASSERT_EQ(bucket_count(program), bucket_count(programs[0]));
      ASSERT_EQ(program.parameters, programs[0].parameters);
    }
  }
}

TEST(Lowering, lowering_twice_gives_the_same_hash) {
  std::set<std::string> hashes;
  std::size_t programs = 0;
  for_each_program([&](const Experiment& experiment, const Program& program) {
    ASSERT_EQ(lower_training(experiment, program.rank).hash(), program.hash());
    hashes.insert(program.hash());
    ++programs;
  });
  // The tiny model fits one bucket of either size, and one rank has nothing to overlap.
  EXPECT_LT(hashes.size(), programs);
  EXPECT_GT(hashes.size(), programs / 4);
}

std::int64_t elements_of(const Program& program, TensorId id) { return program.at(id).elements; }

/// The sizes that the table in models/program.hpp gives the operands of `operation`.
struct ExpectedOperands {
  std::vector<std::int64_t> inputs, outputs;
};

ExpectedOperands operands_of(const MatmulShape& s, std::size_t inputs) {
  ExpectedOperands operands{{s.m * s.k, s.k * s.n}, {s.m * s.n}};
  if (inputs == 3) operands.inputs.push_back(s.n);
  return operands;
}

ExpectedOperands operands_of(OperationKind kind, const RowsShape& s) {
  const std::int64_t all = s.rows * s.width;
  switch (kind) {
    case OperationKind::bias_gradient:
      return {{all}, {s.width}};
    case OperationKind::layer_norm:
      return {{all, s.width, s.width}, {all, s.rows, s.rows}};
    default:
      return {{all, all, s.width, s.rows, s.rows}, {all, s.width, s.width}};
  }
}

ExpectedOperands operands_of(OperationKind kind, const AttentionShape& s) {
  const std::int64_t out = s.batch * s.tokens * s.heads * s.head_dimension;
  const std::int64_t square = s.tokens * s.tokens;
  const std::int64_t probabilities = s.batch * s.heads * square;
  if (kind == OperationKind::attention) return {{3 * out}, {out, probabilities}};
  return {{out, 3 * out, probabilities}, {3 * out, square}};
}

ExpectedOperands operands_of(OperationKind kind, const ElementsShape& s) {
  const std::int64_t n = s.elements;
  switch (kind) {
    case OperationKind::gelu:
      return {{n}, {n}};
    case OperationKind::adamw:
      return {{n, n, n, n}, {n, n, n}};
    default:
      return {{n, n}, {n}};
  }
}

ExpectedOperands operands_of(OperationKind kind, const PatchShape& s) {
  const std::int64_t pixels = s.images * s.channels * s.image_size * s.image_size;
  if (kind == OperationKind::load_batch) return {{}, {pixels, s.images}};
  return {{pixels}, {pixels}};
}

ExpectedOperands operands_of(OperationKind kind, const TokensShape& s) {
  const std::int64_t all = s.images * s.tokens * s.width;
  const std::int64_t patches = s.images * (s.tokens - 1) * s.width;
  const std::int64_t positions = s.tokens * s.width;
  const std::int64_t rows = s.images * s.width;
  switch (kind) {
    case OperationKind::embed_tokens:
      return {{patches, s.width, positions}, {all}};
    case OperationKind::embed_tokens_gradient:
      return {{all}, {patches, s.width, positions}};
    case OperationKind::select_class_token:
      return {{all}, {rows}};
    default:
      return {{rows}, {all}};
  }
}

ExpectedOperands operands_of(OperationKind kind, const LossShape& s) {
  const std::int64_t all = s.images * s.classes;
  if (kind == OperationKind::cross_entropy) return {{all, s.images}, {1, all}};
  return {{all, s.images}, {all}};
}

ExpectedOperands expected_operands(const Operation& operation) {
  if (const auto* s = std::get_if<MatmulShape>(&operation.shape)) {
    return operands_of(*s, operation.inputs.size());
  }
  if (const auto* s = std::get_if<RowsShape>(&operation.shape)) {
    return operands_of(operation.kind, *s);
  }
  if (const auto* s = std::get_if<AttentionShape>(&operation.shape)) {
    return operands_of(operation.kind, *s);
  }
  if (const auto* s = std::get_if<ElementsShape>(&operation.shape)) {
    return operands_of(operation.kind, *s);
  }
  if (const auto* s = std::get_if<PatchShape>(&operation.shape)) {
    return operands_of(operation.kind, *s);
  }
  if (const auto* s = std::get_if<TokensShape>(&operation.shape)) {
    return operands_of(operation.kind, *s);
  }
  return operands_of(operation.kind, std::get<LossShape>(operation.shape));
}

TEST(Lowering, operands_have_the_number_and_size_that_the_shape_says) {
  for_each_program([](const Experiment&, const Program& program) {
    for (const Operation& operation : program.operations) {
      if (is_all_reduce(operation)) continue;
      const ExpectedOperands expected = expected_operands(operation);
      std::vector<std::int64_t> inputs;
      std::vector<std::int64_t> outputs;
      for (const TensorId id : operation.inputs) inputs.push_back(elements_of(program, id));
      for (const TensorId id : operation.outputs) outputs.push_back(elements_of(program, id));
      ASSERT_EQ(inputs, expected.inputs) << operation.name();
      ASSERT_EQ(outputs, expected.outputs) << operation.name();
    }
  });
}

// The receive buffer holds one slice of the largest bucket: elements / ranks, rounded up.
TEST(Lowering, all_reduces_share_one_buffer_for_a_slice_of_the_largest_bucket) {
  for_each_program([](const Experiment& experiment, const Program& program) {
    std::int64_t largest = 0;
    for (const Operation& operation : all_reduces(program)) {
      ASSERT_EQ(operation.inputs.size(), 2U);
      ASSERT_EQ(operation.outputs.size(), 1U);
      ASSERT_EQ(operation.outputs[0], operation.inputs[0]);
      ASSERT_EQ(elements_of(program, operation.inputs[0]),
                std::get<CollectiveShape>(operation.shape).elements);
      largest = std::max(largest, elements_of(program, operation.inputs[0]));
    }
    for (const Operation& operation : all_reduces(program)) {
      const std::int64_t ranks = experiment.parallel.world_size;
      ASSERT_EQ(elements_of(program, operation.inputs[1]), (largest + ranks - 1) / ranks);
    }
  });
}

TEST(Evaluation, keeps_the_parameters_of_training) {
  for (const Experiment& experiment : test::varied_experiments()) {
    SCOPED_TRACE(test::described(experiment));
    const Program training = lower_training(experiment, 0);
    const Program evaluation = lower_evaluation(experiment, 7);
    ASSERT_EQ(evaluation.parameters, training.parameters);
    for (const TensorId id : training.parameters) {
      const Tensor& trained = training.at(id);
      const Tensor& evaluated = evaluation.at(id);
      ASSERT_EQ(evaluated.name(), trained.name());
      ASSERT_EQ(evaluated.elements, trained.elements);
      ASSERT_EQ(evaluated.offset, trained.offset);
      ASSERT_EQ(evaluation.at(evaluated.base).name(), training.at(trained.base).name());
      ASSERT_EQ(evaluation.at(evaluated.base).elements, training.at(trained.base).elements);
    }
  }
}

}  // namespace
}  // namespace paceline::models
