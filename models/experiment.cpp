#include "models/experiment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "models/architecture_fields.hpp"
#include "models/framework_profile.hpp"
#include "models/zoo.hpp"

namespace paceline::models {
namespace {

using core::Cursor;
using core::FieldTable;
using core::Json;
using core::ValueType;

constexpr std::int64_t most_ranks = 1 << 20;
constexpr std::int64_t largest_batch = 1 << 24;

std::vector<std::string> known_models() {
  std::vector<std::string> names;
  for (const ZooEntry& entry : zoo()) {
    names.push_back(entry.architecture.id);
    names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
  }
  return names;
}

void read_model_name(const Json& json, const Cursor& cursor, VitArchitecture& model) {
  const auto name = json.get<std::string>();
  if (const ZooEntry* entry = find_in_zoo(name)) {
    model = entry->architecture;
    return;
  }
  const std::string near = core::nearest(name, known_models());
  cursor.fault("got " + core::shown(json) + ", which is no model of the zoo" +
               (near.empty() ? "" : "; did you mean \"" + near + "\"?") +
               " (`paceline list models` prints all)");
}

/// A zoo name; or an object with the keys of an architecture, starting from `base` if given.
ValueType<VitArchitecture> model_value() {
  ValueType<VitArchitecture> type;
  type.read = [](const Json& json, const Cursor& cursor, VitArchitecture& model) {
    if (json.is_string()) {
      read_model_name(json, cursor, model);
      return;
    }
    if (!json.is_object()) {
      cursor.fault("got " + core::shown(json) + " (must be a model's name or an object)");
      return;
    }
    const std::size_t faults_before = cursor.faults().size();
    model.id = "inline";
    if (const auto base = json.find("base"); base != json.end()) {
      if (base->is_string()) {
        read_model_name(*base, cursor.at("base"), model);
        if (json.size() > 1) model.id += "+";  // no longer the model of that name
      } else {
        cursor.at("base").fault("got " + core::shown(*base) + " (must be a model's name)");
      }
    }
    if (const auto id = json.find("id"); id != json.end()) {
      core::text().read(*id, cursor.at("id"), model.id);
    }
    architecture_fields().read(json, cursor, model, {"base", "id"});
    if (cursor.faults().size() == faults_before) check_architecture(model, cursor);
  };
  type.write = [](const VitArchitecture& model) {
    Json json{{"id", model.id}};
    json.update(architecture_fields().write(model));
    return json;
  };
  type.schema = [] {
    Json object = architecture_fields().schema();
    object["properties"]["base"] = {{"enum", known_models()}};
    object["properties"]["id"] = {{"type", "string"}};
    return Json{{"anyOf", {Json{{"enum", known_models()}}, object}}};
  };
  return type;
}

/// Texts that must be one of a few.
ValueType<std::string> one_of_words(const std::vector<std::string>& allowed) {
  ValueType<std::string> type = core::text();
  type.read = [=](const Json& json, const Cursor& cursor, std::string& value) {
    core::text().read(json, cursor, value);
    if (!json.is_string()) return;
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    std::string list;
    for (const std::string& word : allowed) list += (list.empty() ? "" : ", ") + word;
    cursor.fault("got " + core::shown(json) + " (must be one of " + list + ")");
  };
  type.schema = [=] { return Json{{"enum", allowed}}; };
  return type;
}

/// One value for all ranks, a list with one for each, or an object with one for each device type.
ValueType<Training> micro_batch_value() {
  const auto one = core::integer<std::int64_t>({.min = 1, .max = largest_batch});
  const auto many = core::list(one, 1, most_ranks);
  const auto by_device = core::dictionary(one);
  ValueType<Training> type;
  type.read = [=](const Json& json, const Cursor& cursor, Training& training) {
    training.micro_batch_by_device.clear();
    if (json.is_array()) {
      many.read(json, cursor, training.micro_batch);
    } else if (json.is_object() && !json.empty()) {
      training.micro_batch.clear();
      by_device.read(json, cursor, training.micro_batch_by_device);
    } else if (json.is_number()) {
      training.micro_batch.assign(1, 0);
      one.read(json, cursor, training.micro_batch.front());
    } else {
      cursor.fault("got " + core::shown(json) +
                   " (must be a whole number, a list with one for each rank, or an object with one "
                   "for each device type)");
    }
  };
  type.write = [](const Training& training) {
    if (!training.micro_batch_by_device.empty()) return Json(training.micro_batch_by_device);
    const auto& values = training.micro_batch;
    return values.size() == 1 ? Json(values.front()) : Json(values);
  };
  type.schema = [=] {
    Json map = by_device.schema();
    map["minProperties"] = 1;
    return Json{{"anyOf", {one.schema(), many.schema(), map}}};
  };
  return type;
}

/// A cluster's id or path; or {"devices": [card, …]}; or {"device": card, "count": n}.
struct InlineCluster {
  std::optional<std::vector<std::string>> devices;
  std::optional<std::string> device;
  std::optional<std::int64_t> count;
};

const FieldTable<InlineCluster>& inline_cluster_fields() {
  static const FieldTable<InlineCluster> table = [] {
    FieldTable<InlineCluster> fields;
    fields.optional("devices", &InlineCluster::devices, core::list(core::text(), 1, most_ranks),
                    "cards of one node, in rank order");
    fields.optional("device", &InlineCluster::device, core::text(), "a card");
    fields.optional("count", &InlineCluster::count,
                    core::integer<std::int64_t>({.min = 1, .max = most_ranks}), "how many of it");
    return fields;
  }();
  return table;
}

ValueType<ClusterReference> cluster_value() {
  ValueType<ClusterReference> type;
  type.read = [](const Json& json, const Cursor& cursor, ClusterReference& reference) {
    reference = {};
    if (json.is_string()) {
      reference.name = json.get<std::string>();
      if (reference.name.empty()) cursor.fault("got \"\" (must be a cluster's id or a path)");
      return;
    }
    if (!json.is_object()) {
      cursor.fault("got " + core::shown(json) +
                   " (must be a cluster's id, a path, or an object with devices)");
      return;
    }
    const std::size_t faults_before = cursor.faults().size();
    InlineCluster given;
    inline_cluster_fields().read(json, cursor, given);
    if (cursor.faults().size() != faults_before) return;
    if (given.devices.has_value() == given.device.has_value() ||
        (given.count.has_value() && !given.device.has_value())) {
      cursor.fault("needs either \"devices\" (a list of cards), or \"device\" with \"count\"");
      return;
    }
    reference.name.clear();
    if (given.devices) {
      reference.devices = *given.devices;
    } else if (given.device) {
      reference.devices.assign(static_cast<std::size_t>(given.count.value_or(1)), *given.device);
    }
  };
  type.write = [](const ClusterReference& reference) {
    if (reference.devices.empty()) return Json(reference.name);
    const auto& devices = reference.devices;
    const bool alike = std::all_of(devices.begin(), devices.end(),
                                   [&](const auto& one) { return one == devices.front(); });
    if (alike) return Json{{"device", devices.front()}, {"count", devices.size()}};
    return Json{{"devices", devices}};
  };
  type.schema = [] {
    Json list = inline_cluster_fields().schema();
    list["required"] = {"devices"};
    list["properties"].erase("device");
    list["properties"].erase("count");
    Json counted = inline_cluster_fields().schema();
    counted["required"] = {"device"};
    counted["properties"].erase("devices");
    return Json{{"anyOf", {Json{{"type", "string"}, {"minLength", 1}}, list, counted}}};
  };
  return type;
}

/// Keys of the object form, with names as words.
const FieldTable<Framework>& framework_fields() {
  static const FieldTable<Framework> table = [] {
    FieldTable<Framework> fields;
    fields.required("name", &Framework::name, core::word<core::FrameworkKind>(),
                    "software stack that trains");
    fields.optional("version", &Framework::version, one_of_words(framework_versions()),
                    "of PyTorch; its defaults are then taken");
    fields.optional("fused_attention", &Framework::fused_attention, core::boolean(),
                    "attention as one kernel; false: products and softmax by themselves");
    fields.optional("optimizer_kernels", &Framework::optimizer_kernels,
                    core::word<OptimizerKernels>(), "how the optimizer's work is cut into kernels");
    fields.optional("host_us_per_operator", &Framework::host_us_per_operator,
                    core::number(core::positive),
                    "microseconds that this host takes to issue an operator");
    fields.defaulted("no_sync", &Framework::no_sync, core::boolean(),
                     "with accumulation, exchange gradients in the last micro-step only");
    fields.check([](const Framework& framework, const Cursor& cursor) {
      if (framework.name != core::FrameworkKind::paceline) return;
      const auto refuse = [&](const char* key, bool given) {
        if (given) cursor.at(key).fault("has no meaning for paceline (leave it out)");
      };
      refuse("version", framework.version.has_value());
      refuse("fused_attention", framework.fused_attention.has_value());
      refuse("optimizer_kernels", framework.optimizer_kernels.has_value());
      refuse("host_us_per_operator", framework.host_us_per_operator.has_value());
    });
    return fields;
  }();
  return table;
}

/// Its name; or an object with the name and what differs from its defaults.
ValueType<Framework> framework_value() {
  const auto name = core::word<core::FrameworkKind>();
  const auto object = core::record(framework_fields());
  ValueType<Framework> type;
  type.read = [=](const Json& json, const Cursor& cursor, Framework& framework) {
    framework = {};
    if (json.is_object()) {
      object.read(json, cursor, framework);
    } else {
      name.read(json, cursor, framework.name);
    }
  };
  type.write = [=](const Framework& framework) {
    Framework plain;
    plain.name = framework.name;
    return framework == plain ? name.write(framework.name) : object.write(framework);
  };
  type.schema = [=] { return Json{{"anyOf", {name.schema(), object.schema()}}}; };
  return type;
}

/// A key that other tools use, or one of ours that stands elsewhere: what it is here.
struct ForeignKey {
  std::string_view key, ours, meaning;
};
constexpr std::string_view micro_batch_meaning = "images per rank and forward pass";
constexpr std::string_view accumulation_meaning = "micro-steps per optimizer step";
constexpr std::string_view rate_meaning = "constant over the run";
constexpr std::string_view epochs_meaning = "passes over the training split";
constexpr std::string_view ranks_meaning = "ranks, one process each";
constexpr std::string_view steps_meaning = "optimizer steps that are timed";
constexpr std::string_view dataset_meaning = "an object with name and path";
constexpr std::string_view bucket_meaning = "most bytes that one all-reduce carries, in 2^20 bytes";
constexpr std::array foreign_keys{
    ForeignKey{"micro_batch", "training/micro_batch", micro_batch_meaning},
    ForeignKey{"micro_batch_size", "training/micro_batch", micro_batch_meaning},
    ForeignKey{"batch_size", "training/micro_batch", micro_batch_meaning},
    ForeignKey{"per_device_batch_size", "training/micro_batch", micro_batch_meaning},
    ForeignKey{"per_device_train_batch_size", "training/micro_batch", micro_batch_meaning},
    ForeignKey{"train_micro_batch_size_per_gpu", "training/micro_batch", micro_batch_meaning},
    ForeignKey{"accumulation_steps", "training/accumulation_steps", accumulation_meaning},
    ForeignKey{"gradient_accumulation_steps", "training/accumulation_steps", accumulation_meaning},
    ForeignKey{"grad_accum_steps", "training/accumulation_steps", accumulation_meaning},
    ForeignKey{"accumulate_grad_batches", "training/accumulation_steps", accumulation_meaning},
    ForeignKey{"learning_rate", "training/learning_rate", rate_meaning},
    ForeignKey{"lr", "training/learning_rate", rate_meaning},
    ForeignKey{"optimizer", "training/optimizer", "its name"},
    ForeignKey{"optim", "training/optimizer", "its name"},
    ForeignKey{"opt", "training/optimizer", "its name"},
    ForeignKey{"betas", "training/betas", "decay of the two moments"},
    ForeignKey{"opt_betas", "training/betas", "decay of the two moments"},
    ForeignKey{"epsilon", "training/epsilon", "of AdamW"},
    ForeignKey{"eps", "training/epsilon", "of AdamW"},
    ForeignKey{"opt_eps", "training/epsilon", "of AdamW"},
    ForeignKey{"adam_epsilon", "training/epsilon", "of AdamW"},
    ForeignKey{"weight_decay", "training/weight_decay", "decoupled, on every parameter"},
    ForeignKey{"wd", "training/weight_decay", "decoupled, on every parameter"},
    ForeignKey{"dataset", "training/dataset", dataset_meaning},
    ForeignKey{"dataset_name", "training/dataset/name", "with path beside it"},
    ForeignKey{"data_dir", "training/dataset/path", "folder with dataset.json"},
    ForeignKey{"epochs", "training/epochs", epochs_meaning},
    ForeignKey{"num_epochs", "training/epochs", epochs_meaning},
    ForeignKey{"max_epochs", "training/epochs", epochs_meaning},
    ForeignKey{"num_train_epochs", "training/epochs", epochs_meaning},
    ForeignKey{"seed", "training/seed", "of weights, order and synthetic images"},
    ForeignKey{"world_size", "parallel/world_size", ranks_meaning},
    ForeignKey{"num_gpus", "parallel/world_size", ranks_meaning},
    ForeignKey{"n_gpus", "parallel/world_size", ranks_meaning},
    ForeignKey{"num_processes", "parallel/world_size", ranks_meaning},
    ForeignKey{"nproc_per_node", "parallel/world_size", "ranks of all nodes together"},
    ForeignKey{"bucket_mib", "parallel/bucket_mib", bucket_meaning},
    ForeignKey{"bucket_cap_mb", "parallel/bucket_mib", bucket_meaning},
    ForeignKey{"overlap", "parallel/overlap", "communication beside the backward pass"},
    ForeignKey{"overlap_comm", "parallel/overlap", "communication beside the backward pass"},
    ForeignKey{"steps", "run/steps", steps_meaning},
    ForeignKey{"max_steps", "run/steps", steps_meaning},
    ForeignKey{"num_steps", "run/steps", steps_meaning},
    ForeignKey{"warmup_steps", "run/warmup_steps", "steps before timing starts"},
    ForeignKey{"model_name", "model", "a zoo name or alias"},
    ForeignKey{"model_name_or_path", "model", "a zoo name or alias"},
    ForeignKey{"arch", "model", "a zoo name or alias"},
};

std::string advice(std::string_view ours, const std::string& value, std::string_view meaning) {
  return "here it is \"" + std::string(ours) + "\": " + value + " (" + std::string(meaning) + ")";
}

/// DeepSpeed counts elements; gradients are fp32.
std::string bucket_of_elements(const Json& value) {
  if (!value.is_number()) return advice("parallel/bucket_mib", core::shown(value), bucket_meaning);
  constexpr double mib = 1024.0 * 1024.0;
  const double size = value.get<double>() * 4.0 / mib;
  return advice("parallel/bucket_mib", core::shown(Json(std::llround(std::max(1.0, size)))),
                "elements × 4 bytes, in 2^20 bytes");
}

/// What other tools call mixed precision.
std::string precision_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "\"amp_fp16\" or \"amp_bf16\"" : "\"fp32\"";
  const std::string word = value.is_string() ? value.get<std::string>() : "";
  if (word == "fp16" || word == "float16" || word == "half") return "\"amp_fp16\"";
  if (word == "bf16" || word == "bfloat16") return "\"amp_bf16\"";
  if (word == "no" || word == "float32" || word == "fp32") return "\"fp32\"";
  return "one of fp32, tf32, amp_fp16, amp_bf16, fp16_master, bf16_master";
}

template <class T>
void add_foreign_keys(FieldTable<T>& fields) {
  for (const ForeignKey& foreign : foreign_keys) {
    fields.foreign(std::string(foreign.key), [foreign](const Json& value) {
      return advice(foreign.ours, core::shown(value), foreign.meaning);
    });
  }
  for (const char* key : {"global_batch", "global_batch_size", "train_batch_size"}) {
    fields.foreign(key, [](const Json& value) {
      return "the global batch follows here from \"training/micro_batch\" × ranks × "
             "\"training/accumulation_steps\" (choose them so that it is " +
             core::shown(value) + ")";
    });
  }
  for (const char* key : {"precision", "mixed_precision", "amp", "fp16", "bf16", "dtype"}) {
    fields.foreign(key, [](const Json& value) {
      return advice("training/precision", precision_of(value), "arithmetic and storage");
    });
  }
  for (const char* key : {"reduce_bucket_size", "allreduce_bucket_size"}) {
    fields.foreign(key, bucket_of_elements);
  }
}

/// Images of the training split of data sets that need no description.
std::optional<std::int64_t> known_samples(const std::string& name) {
  if (name == "cifar10" || name == "cifar100") return 50'000;
  if (name == "imagenet1k") return 1'281'167;
  return std::nullopt;
}

const FieldTable<Dataset>& dataset_fields() {
  static const FieldTable<Dataset> table = [] {
    FieldTable<Dataset> fields;
    fields.required("name", &Dataset::name, core::text(),
                    "synthetic, or any name when path is given");
    fields.optional("path", &Dataset::path, core::text(),
                    "folder with dataset.json, relative to where the command runs");
    fields.optional("samples", &Dataset::samples,
                    core::integer<std::int64_t>({.min = 1, .max = INT64_C(1) << 40}),
                    "images in the training split");
    fields.check([](const Dataset& dataset, const Cursor& cursor) {
      const bool known = dataset.name == "synthetic" || known_samples(dataset.name);
      if (!known && dataset.path.value_or("").empty()) {
        cursor.fault("data set \"" + dataset.name +
                     "\" has no path (give \"path\": a folder with dataset.json; or use cifar10, "
                     "cifar100, imagenet1k or synthetic)");
      }
    });
    return fields;
  }();
  return table;
}

const FieldTable<Training>& training_fields() {
  static const FieldTable<Training> table = [] {
    using T = Training;
    constexpr double below_one = 0.999999999;
    FieldTable<T> fields;
    fields.whole("micro_batch", micro_batch_value(),
                 "images per rank and micro-step: one value, a list with one for each rank, or an "
                 "object with one for each device type");
    fields.defaulted("accumulation_steps", &T::accumulation_steps,
                     core::integer<std::int64_t>({.min = 1, .max = 65536}),
                     "micro-steps per optimizer step");
    fields.defaulted("precision", &T::precision, core::word<core::Precision>(),
                     "arithmetic and storage; CPU ranks run fp32");
    fields.defaulted("optimizer", &T::optimizer, core::word<core::OptimizerKind>(), "update rule");
    fields.defaulted("learning_rate", &T::learning_rate, core::number(core::not_negative),
                     "constant over the run");
    fields.defaulted("betas", &T::betas,
                     core::list(core::number({.min = 0.0, .max = below_one}), 2, 2),
                     "decay of the first and the second moment");
    fields.defaulted("epsilon", &T::epsilon, core::number(core::positive),
                     "added to the root of the second moment");
    fields.defaulted("weight_decay", &T::weight_decay, core::number(core::not_negative),
                     "on every parameter, as torch.optim does by default");
    fields.defaulted("momentum", &T::momentum, core::number({.min = 0.0, .max = below_one}),
                     "of SGD; 0 keeps no state");
    fields.optional("clip_norm", &T::clip_norm, core::number(core::positive),
                    "gradients are scaled down to this norm over all parameters");
    fields.defaulted("activation_checkpointing", &T::activation_checkpointing,
                     core::word<core::ActivationCheckpointing>(),
                     "full: only each block's input is kept, blocks are computed again");
    fields.defaulted("dataset", &T::dataset, core::record(dataset_fields()),
                     "where images come from");
    fields.defaulted("epochs", &T::epochs,
                     core::integer<std::int64_t>({.min = 1, .max = 1'000'000}),
                     "passes over the training split");
    fields.defaulted("seed", &T::seed, core::integer<std::int64_t>({.min = 0}),
                     "of weights, order and synthetic images");
    add_foreign_keys(fields);
    return fields;
  }();
  return table;
}

const FieldTable<Parallel>& parallel_fields() {
  static const FieldTable<Parallel> table = [] {
    FieldTable<Parallel> fields;
    fields.optional("world_size", &Parallel::given_world_size,
                    core::integer<std::int64_t>({.min = 1, .max = most_ranks}),
                    "ranks; left out: one for each device of an inline cluster, else one");
    fields.defaulted("bucket_mib", &Parallel::bucket_mib,
                     core::integer<std::int64_t>({.min = 1, .max = 1 << 20}),
                     "most gradient bytes that one all-reduce carries, in 2^20 bytes");
    fields.defaulted("overlap", &Parallel::overlap, core::boolean(),
                     "start a bucket's all-reduce while the backward pass goes on");
    add_foreign_keys(fields);
    return fields;
  }();
  return table;
}

const FieldTable<Run>& run_fields() {
  static const FieldTable<Run> table = [] {
    FieldTable<Run> fields;
    const auto steps = core::integer<std::int64_t>({.min = 1, .max = 1'000'000'000});
    fields.defaulted("steps", &Run::steps, steps, "timed steps");
    fields.defaulted("warmup_steps", &Run::warmup_steps,
                     core::integer<std::int64_t>({.min = 0, .max = 1'000'000'000}),
                     "steps before timing starts");
    add_foreign_keys(fields);
    return fields;
  }();
  return table;
}

std::int64_t world_size_of(const Experiment& experiment) {
  if (experiment.parallel.given_world_size) return *experiment.parallel.given_world_size;
  const std::size_t devices = experiment.cluster.devices.size();
  const std::size_t batches = experiment.training.micro_batch.size();
  return static_cast<std::int64_t>(devices > 0 ? devices : std::max(batches, std::size_t{1}));
}

void check_list_length(const Experiment& experiment, const Cursor& cursor) {
  const std::size_t given = experiment.training.micro_batch.size();
  const auto ranks = static_cast<std::size_t>(world_size_of(experiment));
  if (given <= 1 || given == ranks) return;
  cursor.at("training")
      .at("micro_batch")
      .fault("got a list of " + std::to_string(given) + " (must be one value, or one for each of " +
             std::to_string(ranks) + " ranks)");
}

/// A job does not need more devices than an inline cluster lists.
void check_inline_devices(const Experiment& experiment, const Cursor& cursor) {
  const std::size_t devices = experiment.cluster.devices.size();
  const auto ranks = world_size_of(experiment);
  if (devices == 0 || static_cast<std::size_t>(ranks) <= devices) return;
  cursor.at("parallel")
      .at("world_size")
      .fault("got " + std::to_string(ranks) + " (must be <= " + std::to_string(devices) +
             ", the devices that \"cluster\" lists)");
}

/// The Program of a step fits into memory, and its sums into 64 bits.
void check_size_of_step(const Experiment& experiment, const Cursor& cursor) {
  const Cursor training = cursor.at("training");
  const std::int64_t depth = experiment.model.depth;
  const std::int64_t micro_steps = experiment.training.accumulation_steps;
  constexpr std::int64_t most_blocks = 100'000;  // over all micro-steps
  if (micro_steps * depth > most_blocks) {
    training.at("accumulation_steps")
        .fault("got " + std::to_string(micro_steps) +
               " (must be <= " + std::to_string(most_blocks / depth) + " with " +
               std::to_string(depth) + " blocks: one step holds at most 100000)");
  }
  std::int64_t images = 1;
  for (const std::int64_t batch : experiment.training.micro_batch) images = std::max(images, batch);
  for (const auto& [device, batch] : experiment.training.micro_batch_by_device) {
    images = std::max(images, batch);
  }
  constexpr double passes = 3.0;  // the backward pass costs twice the forward pass
  const double flops = passes * static_cast<double>(micro_steps * images) *
                       static_cast<double>(forward_flops(experiment.model, 1).value());
  if (flops > most_step_flops) {
    training.at("micro_batch")
        .fault("got " + std::to_string(images) +
               " (one step of a rank then takes more than 1e18 FLOPs, the most that is counted)");
  }
}

const FieldTable<Experiment>& experiment_fields() {
  static const FieldTable<Experiment> table = [] {
    using E = Experiment;
    FieldTable<E> fields;
    fields.document("experiment");
    fields.required("model", &E::model, model_value(),
                    "a zoo name or alias, or an object with an architecture's keys");
    fields.defaulted("cluster", &E::cluster, cluster_value(),
                     "a cluster's id, a path, or the cards of one node");
    fields.defaulted("framework", &E::framework, framework_value(), "software stack that trains");
    fields.required("training", &E::training, core::record(training_fields()), "what is trained");
    fields.defaulted("parallel", &E::parallel, core::record(parallel_fields()),
                     "how ranks share the work");
    fields.defaulted("run", &E::run, core::record(run_fields()), "what is timed");
    add_foreign_keys(fields);
    fields.check(check_list_length).check(check_inline_devices).check(check_size_of_step);
    return fields;
  }();
  return table;
}

}  // namespace

OptimizerSettings Training::optimizer_settings() const {
  return {.kind = optimizer,
          .learning_rate = learning_rate,
          .beta1 = betas.at(0),
          .beta2 = betas.at(1),
          .epsilon = epsilon,
          .weight_decay = weight_decay,
          .momentum = momentum,
          .clip_norm = clip_norm};
}

std::string Framework::title() const {
  std::string text(core::spelling(name));
  if (version) text += " " + *version;
  return text;
}

std::int64_t Experiment::global_batch() const {
  std::int64_t images = 0;
  for (int rank = 0; rank < static_cast<int>(parallel.world_size); ++rank) {
    images += micro_batch_of(rank);
  }
  return images * training.accumulation_steps;
}

std::string Experiment::hash() const {
  Experiment without_place = *this;
  without_place.training.dataset.path.reset();
  return core::hash_text(experiment_text(without_place));
}

namespace {

/// Settles what follows from other keys.
Experiment settled(Experiment experiment) {
  experiment.parallel.world_size = world_size_of(experiment);
  Dataset& dataset = experiment.training.dataset;
  if (!dataset.samples && !dataset.path) dataset.samples = known_samples(dataset.name);
  return experiment;
}

}  // namespace

namespace {

/// JSON pointers of every key below `json`.
void collect_keys(const Json& json, const std::string& pointer, std::set<std::string>& keys) {
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    std::string below = pointer;
    below.append("/").append(key);
    keys.insert(below);
    collect_keys(value, below, keys);
  }
}

/// Takes from `json` what no key of `keys` names.
void keep_keys(Json& json, const std::string& pointer, const std::set<std::string>& keys) {
  if (!json.is_object()) return;
  std::vector<std::string> gone;
  for (auto& [key, value] : json.items()) {
    std::string below = pointer;
    below.append("/").append(key);
    if (!keys.contains(below)) {
      gone.push_back(key);
    } else if (std::any_of(keys.begin(), keys.end(),
                           [&](const std::string& one) { return one.starts_with(below + "/"); })) {
      keep_keys(value, below, keys);
    }
  }
  for (const std::string& key : gone) json.erase(key);
}

}  // namespace

Experiment read_experiment(const std::filesystem::path& path) {
  core::Faults faults;
  const Json json = core::read_json_file(path, core::Cursor(path.string(), faults));
  faults.throw_if_any();
  Experiment experiment = settled(core::from_json(json, experiment_fields(), path.string()));
  collect_keys(json, "", experiment.given);
  return experiment;
}

Experiment read_experiment_text(std::string_view text, const std::string& file) {
  Experiment experiment = settled(core::from_text(text, experiment_fields(), file));
  core::Faults none;
  collect_keys(core::parse_json(text, core::Cursor("", none)), "", experiment.given);
  return experiment;
}

std::string given_experiment_text(const Experiment& experiment) {
  Json json = experiment_fields().write(experiment);
  keep_keys(json, "", experiment.given);
  json["schema"] = "paceline/experiment/1";
  return core::to_text(json);
}

std::string experiment_text(const Experiment& experiment) {
  Experiment written = experiment;
  written.parallel.given_world_size = experiment.parallel.world_size;
  return core::to_text(experiment_fields().write(written));
}

std::string experiment_schema() { return core::to_text(experiment_fields().schema()); }

}  // namespace paceline::models
