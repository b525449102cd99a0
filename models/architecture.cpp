#include "models/architecture.hpp"

#include <functional>
#include <numeric>

namespace paceline::models {

std::int64_t ParameterSpec::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string ParameterSpec::name() const {
  const std::string prefix = layer < 0 ? "" : "blocks." + std::to_string(layer) + ".";
  return prefix + std::string(role);
}

std::vector<ParameterSpec> parameters_of(const VitArchitecture& a) {
  std::vector<ParameterSpec> specs;
  const auto add = [&](std::string_view role, int layer, std::vector<std::int64_t> shape) {
    specs.push_back({role, layer, std::move(shape)});
  };
  if (a.class_token) add("cls_token", -1, {1, 1, a.width});
  add("pos_embed", -1, {1, a.tokens(), a.width});
  add("patch_embed.proj.weight", -1, {a.width, a.channels, a.patch_size, a.patch_size});
  add("patch_embed.proj.bias", -1, {a.width});
  for (int layer = 0; layer < static_cast<int>(a.depth); ++layer) {
    add("norm1.weight", layer, {a.width});
    add("norm1.bias", layer, {a.width});
    add("attn.qkv.weight", layer, {3 * a.width, a.width});
    add("attn.qkv.bias", layer, {3 * a.width});
    add("attn.proj.weight", layer, {a.width, a.width});
    add("attn.proj.bias", layer, {a.width});
    add("norm2.weight", layer, {a.width});
    add("norm2.bias", layer, {a.width});
    add("mlp.fc1.weight", layer, {a.mlp_hidden, a.width});
    add("mlp.fc1.bias", layer, {a.mlp_hidden});
    add("mlp.fc2.weight", layer, {a.width, a.mlp_hidden});
    add("mlp.fc2.bias", layer, {a.width});
  }
  add("norm.weight", -1, {a.width});
  add("norm.bias", -1, {a.width});
  add("head.weight", -1, {a.classes, a.width});
  add("head.bias", -1, {a.classes});
  return specs;
}

std::int64_t parameter_count(const VitArchitecture& architecture) {
  std::int64_t count = 0;
  for (const ParameterSpec& spec : parameters_of(architecture)) count += spec.elements();
  return count;
}

namespace {

/// In whole numbers, or in doubles where the numbers may be absurd.
template <class Number>
Number forward_flops_of_image(const VitArchitecture& a) {
  const auto s = static_cast<Number>(a.tokens());
  const auto d = static_cast<Number>(a.width);
  const auto hidden = static_cast<Number>(a.mlp_hidden);
  const Number block = 2 * s * d * (3 * d)    // qkv
                       + 4 * s * s * d        // scores and weighted values
                       + 2 * s * d * d        // projection
                       + 4 * s * d * hidden;  // fc1, fc2
  const Number embedding =
      2 * static_cast<Number>(a.patches()) * static_cast<Number>(a.patch_values()) * d;
  const Number head = 2 * d * static_cast<Number>(a.classes);
  return embedding + static_cast<Number>(a.depth) * block + head;
}

}  // namespace

core::Flops forward_flops(const VitArchitecture& architecture, std::int64_t images) {
  return core::Flops(images * forward_flops_of_image<std::int64_t>(architecture));
}

std::vector<std::pair<std::string, std::string>> faults_of(const VitArchitecture& a) {
  std::vector<std::pair<std::string, std::string>> faults;
  if (a.image_size % a.patch_size != 0) {
    faults.emplace_back("image_size", "got " + std::to_string(a.image_size) +
                                          " (must be a multiple of patch_size " +
                                          std::to_string(a.patch_size) + ")");
  }
  if (a.width % a.heads != 0) {
    faults.emplace_back("heads", "got " + std::to_string(a.heads) + " (must divide width " +
                                     std::to_string(a.width) + ")");
  }
  if (faults.empty() && forward_flops_of_image<double>(a) > most_step_flops) {
    faults.emplace_back("image_size", "got " + std::to_string(a.image_size) +
                                          " (with these sizes one image takes more than 1e18 "
                                          "FLOPs, the most that is counted)");
  }
  return faults;
}

}  // namespace paceline::models
