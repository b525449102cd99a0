#include "golden.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "core/json.hpp"

namespace paceline::runtime::kernels {
namespace {

core::Json read_json(const std::string& file) {
  core::Faults faults;
  core::Json json = core::read_json_file(file, core::Cursor(file, faults));
  faults.throw_if_any();
  return json;
}

std::string read_bytes(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot open " + file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

models::VitArchitecture architecture_of(const core::Json& model) {
  models::VitArchitecture architecture;
  architecture.image_size = model.at("image_size");
  architecture.patch_size = model.at("patch_size");
  architecture.channels = model.at("channels");
  architecture.width = model.at("width");
  architecture.depth = model.at("depth");
  architecture.heads = model.at("heads");
  architecture.mlp_hidden = model.at("mlp_hidden");
  architecture.classes = model.at("classes");
  architecture.class_token = model.value("class_token", true);
  architecture.layer_norm_epsilon = model.at("layer_norm_epsilon");
  if (model.at("activation") != "gelu_erf") throw std::runtime_error("unknown activation");
  return architecture;
}

template <class T>
std::vector<double> values_at(const std::string& bytes, std::size_t offset, std::size_t elements) {
  std::vector<T> values(elements);
  if (offset + elements * sizeof(T) > bytes.size()) throw std::runtime_error("golden is cut off");
  std::memcpy(values.data(), bytes.data() + offset, elements * sizeof(T));
  return {values.begin(), values.end()};
}

}  // namespace

Golden::Golden(const std::string& name) {
  const std::string stem = std::string(PACELINE_TEST_DIRECTORY) + "/golden/" + name;
  const core::Json json = read_json(stem + ".json");
  bytes_ = read_bytes(stem + ".bin");
  for (const core::Json& tensor : json.at("tensors")) {
    std::size_t elements = 1;
    for (const core::Json& extent : tensor.at("shape")) elements *= extent.get<std::size_t>();
    entries_.push_back({.name = tensor.at("name"),
                        .type = tensor.at("dtype"),
                        .offset = tensor.at("offset_bytes"),
                        .elements = elements});
  }
  experiment_ = experiment_of(architecture_of(json.at("model")), json.at("batch"), 1);
  const core::Json& optimizer = json.at("optimizer");
  experiment_.training.learning_rate = optimizer.at("learning_rate");
  experiment_.training.weight_decay = optimizer.at("weight_decay");
  if (optimizer.at("name") == "sgd") {
    experiment_.training.optimizer = core::OptimizerKind::sgd;
    experiment_.training.momentum = optimizer.at("momentum");
    experiment_.training.clip_norm = optimizer.at("clip_norm").get<double>();
  } else {
    experiment_.training.betas = {optimizer.at("beta1"), optimizer.at("beta2")};
    experiment_.training.epsilon = optimizer.at("epsilon");
  }
  losses_ = json.at("losses").get<std::vector<double>>();
  batch_.images = tensor("images");
  const std::vector<double> labels = tensor("labels");
  std::transform(labels.begin(), labels.end(), std::back_inserter(batch_.labels),
                 [](double label) { return static_cast<std::int32_t>(label); });
}

std::vector<double> Golden::tensor(const std::string& name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  if (found == entries_.end()) throw std::runtime_error("the golden has no tensor " + name);
  if (found->type == "float64") return values_at<double>(bytes_, found->offset, found->elements);
  if (found->type == "int32") {
    return values_at<std::int32_t>(bytes_, found->offset, found->elements);
  }
  return values_at<float>(bytes_, found->offset, found->elements);
}

}  // namespace paceline::runtime::kernels
