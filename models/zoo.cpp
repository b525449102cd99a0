#include "models/zoo.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "core/fields.hpp"
#include "core/share_directory.hpp"
#include "models/architecture_fields.hpp"
#include "models/zoo_file.hpp"

namespace paceline::models {
namespace {

/// What timm, torchvision and Hugging Face call the keys of an architecture.
struct ForeignKey {
  std::string_view key, ours;
};
constexpr std::array foreign_keys{ForeignKey{"img_size", "image_size"},
                                  ForeignKey{"in_chans", "channels"},
                                  ForeignKey{"num_channels", "channels"},
                                  ForeignKey{"embed_dim", "width"},
                                  ForeignKey{"hidden_dim", "width"},
                                  ForeignKey{"hidden_size", "width"},
                                  ForeignKey{"num_layers", "depth"},
                                  ForeignKey{"num_hidden_layers", "depth"},
                                  ForeignKey{"num_heads", "heads"},
                                  ForeignKey{"num_attention_heads", "heads"},
                                  ForeignKey{"mlp_dim", "mlp_hidden"},
                                  ForeignKey{"intermediate_size", "mlp_hidden"},
                                  ForeignKey{"num_classes", "classes"},
                                  ForeignKey{"num_labels", "classes"},
                                  ForeignKey{"layer_norm_eps", "layer_norm_epsilon"}};

void add_foreign_keys(core::FieldTable<VitArchitecture>& fields) {
  for (const ForeignKey& foreign : foreign_keys) {
    fields.foreign(std::string(foreign.key), [foreign](const core::Json& value) {
      return "here it is \"" + std::string(foreign.ours) + "\": " + core::shown(value);
    });
  }
  fields.foreign("mlp_ratio", [](const core::Json& value) {
    return "here it is \"mlp_hidden\": width × " + core::shown(value);
  });
}

}  // namespace

const core::FieldTable<VitArchitecture>& architecture_fields() {
  using V = VitArchitecture;
  constexpr std::int64_t largest_image = 65536;
  constexpr std::int64_t largest_width = 1 << 20;
  constexpr std::int64_t deepest = 4096;
  static const core::FieldTable<V> table = [] {
    core::FieldTable<V> fields;
    const auto size = core::integer<std::int64_t>({.min = 1, .max = largest_image});
    const auto width = core::integer<std::int64_t>({.min = 1, .max = largest_width});
    fields.defaulted("image_size", &V::image_size, size, "pixels a side");
    fields.defaulted("patch_size", &V::patch_size, size, "pixels a side; divides image_size");
    fields.defaulted("channels", &V::channels, core::integer<std::int64_t>({.min = 1, .max = 1024}),
                     "colour channels");
    fields.defaulted("width", &V::width, width, "embedding dimension");
    fields.defaulted("depth", &V::depth, core::integer<std::int64_t>({.min = 1, .max = deepest}),
                     "transformer blocks");
    fields.defaulted("heads", &V::heads, width, "attention heads; divides width");
    fields.defaulted("mlp_hidden", &V::mlp_hidden, width, "hidden width of the MLP");
    fields.defaulted("classes", &V::classes, width, "outputs of the head");
    fields.defaulted("class_token", &V::class_token, core::boolean(),
                     "false: the head reads the mean of all tokens");
    fields.defaulted("gelu", &V::gelu, core::word<core::GeluForm>(), "exact (erf) or tanh");
    fields.defaulted("layer_norm_epsilon", &V::layer_norm_epsilon, core::number(core::positive),
                     "added to the variance");
    add_foreign_keys(fields);
    return fields;
  }();
  return table;
}

void check_architecture(const VitArchitecture& architecture, const core::Cursor& cursor) {
  for (const auto& [key, problem] : faults_of(architecture)) cursor.at(key).fault(problem);
}

namespace {

std::vector<ZooEntry> read_zoo() {
  std::vector<std::filesystem::path> files;
  const auto folder = core::share_directory() / "models" / "zoo";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".json") files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<ZooEntry> entries;
  std::set<std::string> names;
  for (const auto& path : files) {
    ZooFile file = read_zoo_file(path);
    for (ZooEntry& entry : file.architectures) {
      std::vector<std::string> all = entry.aliases;
      all.push_back(entry.architecture.id);
      for (const std::string& name : all) {
        if (!names.insert(name).second) {
          throw core::ConfigError(path.string(), "",
                                  "the name \"" + name + "\" is given twice in the zoo");
        }
      }
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

}  // namespace

const std::vector<ZooEntry>& zoo() {
  static const std::vector<ZooEntry> entries = read_zoo();
  return entries;
}

const ZooEntry* find_in_zoo(std::string_view name) {
  for (const ZooEntry& entry : zoo()) {
    if (entry.architecture.id == name) return &entry;
    if (std::find(entry.aliases.begin(), entry.aliases.end(), name) != entry.aliases.end()) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace paceline::models
