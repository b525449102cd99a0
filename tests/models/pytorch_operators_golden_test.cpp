#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/json.hpp"
#include "models/lowering/pytorch.hpp"
#include "models/memory_plan/memory_plan.hpp"

/// Is PyTorch's Program what PyTorch does? Operators of recorded steps, in order, with the types
/// and sizes of their tensors, and the bytes that autograd saves (tests/golden/README.md).
namespace paceline::models {
namespace {

using core::Json;

struct Recorded {
  std::string file;
  Json json;
};

std::vector<std::filesystem::path> recorded_files() {
  std::vector<std::filesystem::path> files;
  const auto folder = std::filesystem::path(PACELINE_TEST_DIRECTORY) / "golden/pytorch_operators";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Json read(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return Json::parse(stream);
}

/// "float32[2,197,192]" → "float32:75648"; empty for the attention kernel's random state, which is
/// a scalar of int64 that holds nothing here.
std::string sized(const std::string& recorded) {
  const std::size_t open = recorded.find('[');
  const std::string type = recorded.substr(0, open);
  std::int64_t elements = 1;
  std::stringstream dimensions(recorded.substr(open + 1, recorded.size() - open - 2));
  for (std::string one; std::getline(dimensions, one, ',');) elements *= std::stoll(one);
  if (recorded == "int64[]") return {};
  return type + ":" + std::to_string(elements);
}

/// The tensors between the brackets after `from`.
std::string tensors_of(const std::string& text, std::size_t from) {
  const std::size_t open = text.find('(', from);
  const std::size_t close = text.find(')', open);
  std::stringstream words(text.substr(open + 1, close - open - 1));
  std::string list;
  for (std::string word; words >> word;) {
    const std::string one = word == "…" ? word : sized(word);
    if (!one.empty()) list.append(list.empty() ? "" : " ").append(one);
  }
  return list;
}

/// "forward aten.addmm.default (…) -> (…)" with sizes; of the optimizer only the operator's name,
/// which takes all parameters at once.
std::vector<std::string> recorded_operators(const Json& json) {
  std::vector<std::string> list;
  for (const auto& index : json["order"]) {
    const auto text = json["operators"][index.get<std::size_t>()].get<std::string>();
    const std::string phase = text.substr(0, text.find(' '));
    const std::string name = text.substr(phase.size() + 1, text.find(" (") - phase.size() - 1);
    std::string line = phase;
    line.append(" ").append(name);
    if (phase != "optimizer") {
      line.append(" (").append(tensors_of(text, 0)).append(") -> (");
      line.append(tensors_of(text, text.find("->"))).append(")");
    }
    list.push_back(line);
  }
  return list;
}

std::string type_name(core::DataType type) {
  switch (type) {
    case core::DataType::bf16:
      return "bfloat16";
    case core::DataType::fp16:
      return "float16";
    case core::DataType::int64:
      return "int64";
    default:
      return "float32";
  }
}

std::string tensors_of(const Program& program, const TensorList& ids) {
  std::string list;
  for (const TensorId id : ids) {
    const Tensor& tensor = program.at(id);
    list.append(list.empty() ? "" : " ").append(type_name(tensor.type)).append(":");
    list.append(std::to_string(tensor.elements));
  }
  return list;
}

std::vector<std::string> operators_of(const Program& program) {
  std::vector<std::string> list;
  for (const Operation& operation : program.operations) {
    if (operation.phase == core::Phase::data) continue;
    std::string line(core::spelling(operation.phase));
    line.append(" ").append(operation.operator_name);
    if (operation.phase != core::Phase::optimizer) {
      line.append(" (").append(tensors_of(program, operation.inputs)).append(") -> (");
      line.append(tensors_of(program, operation.outputs)).append(")");
    }
    list.push_back(line);
  }
  return list;
}

Program lowered(const Json& json) {
  Json text{{"schema", "paceline/experiment/1"},
            {"model", json["model"]},
            {"framework", {{"name", "pytorch_ddp"}, {"optimizer_kernels", "fused"}}},
            {"training",
             {{"micro_batch", json["micro_batch"]},
              {"precision", json["precision"]},
              {"activation_checkpointing", json["activation_checkpointing"]}}}};
  const Experiment experiment = read_experiment_text(text.dump(), "golden");
  hardware_profiles::DeviceCapabilities h200;
  h200.kind = hardware_profiles::DeviceCapabilities::Kind::cuda;
  h200.compute_capability = 90;
  PytorchRules rules = pytorch_rules(experiment, h200);
  if (json["device"] == "cpu") {
    rules.backend = PytorchRules::Backend::cpu;
    rules.attention_forward = "aten._scaled_dot_product_flash_attention_for_cpu.default";
    rules.attention_backward = "aten._scaled_dot_product_flash_attention_for_cpu_backward.default";
    rules.pads_logsumexp = false;
  }
  return lower_pytorch(experiment, 0, rules);
}

/// Storages that the backward pass reads and the forward pass wrote.
std::int64_t saved_bytes(const Program& program) {
  std::set<std::size_t> written;
  std::set<std::size_t> saved;
  const auto storage = [&](TensorId id) {
    const TensorId base = program.at(id).base;
    return (base.valid() ? base : id).index();
  };
  for (const Operation& operation : program.operations) {
    if (operation.phase == core::Phase::forward) {
      for (const TensorId id : operation.outputs) written.insert(storage(id));
    } else if (operation.phase == core::Phase::backward && !operation.recomputed) {
      for (const TensorId id : operation.inputs) {
        const bool loss =
            program.at(id).elements == 1 && operation.kind == core::OperationKind::fill;
        if (written.contains(storage(id)) && !loss) saved.insert(storage(id));
      }
    }
  }
  std::int64_t bytes = 0;
  for (const std::size_t index : saved) bytes += program.tensors[index].bytes().value();
  return bytes;
}

class PytorchOperators : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(PytorchOperators, are_those_of_the_program_in_order_type_and_size) {
  const Json json = read(GetParam());
  const auto expected = recorded_operators(json);
  const auto found = operators_of(lowered(json));
  for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
    ASSERT_EQ(found[i], expected[i]) << "operator " << i;
  }
  EXPECT_EQ(found.size(), expected.size());
}

TEST_P(PytorchOperators, save_the_same_bytes) {
  const Json json = read(GetParam());
  if (json["saved_bytes"].is_null()) return;  // checkpointing saves blocks' inputs only
  // On CUDA each attention also saves a seed and an offset of 8 bytes, which hold nothing here.
  constexpr std::int64_t random_state = 16;
  const Program program = lowered(json);
  const std::int64_t states =
      json["device"] == "cuda" ? program.architecture.depth * random_state : 0;
  EXPECT_EQ(saved_bytes(program) + states, json["saved_bytes"].get<std::int64_t>());
}

INSTANTIATE_TEST_SUITE_P(recorded, PytorchOperators, testing::ValuesIn(recorded_files()),
                         [](const auto& instance) { return instance.param.stem().string(); });

}  // namespace
}  // namespace paceline::models
