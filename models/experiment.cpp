#include "models/experiment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "models/architecture_fields.hpp"
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

/// One value for all ranks, or a list with one for each.
ValueType<std::vector<std::int64_t>> per_rank_value() {
  const auto one = core::integer<std::int64_t>({.min = 1, .max = largest_batch});
  const auto many = core::list(one, 1, most_ranks);
  ValueType<std::vector<std::int64_t>> type;
  type.read = [=](const Json& json, const Cursor& cursor, std::vector<std::int64_t>& values) {
    if (json.is_array()) {
      many.read(json, cursor, values);
      return;
    }
    if (!json.is_number()) {
      cursor.fault("got " + core::shown(json) +
                   " (must be a whole number, or a list with one for each rank)");
      return;
    }
    values.assign(1, 0);
    one.read(json, cursor, values.front());
  };
  type.write = [](const std::vector<std::int64_t>& values) {
    return values.size() == 1 ? Json(values.front()) : Json(values);
  };
  type.schema = [=] { return Json{{"anyOf", {one.schema(), many.schema()}}}; };
  return type;
}

/// Texts that must be one of a few, with a message for what is planned but not built.
ValueType<std::string> one_of(const std::vector<std::string>& allowed, const std::string& why) {
  ValueType<std::string> type = core::text();
  type.read = [=](const Json& json, const Cursor& cursor, std::string& value) {
    core::text().read(json, cursor, value);
    if (!json.is_string()) return;
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    std::string list;
    for (const std::string& word : allowed) list += (list.empty() ? "" : ", ") + word;
    cursor.fault("got " + core::shown(json) + " (must be one of " + list + "; " + why + ")");
  };
  type.schema = [=] { return Json{{"enum", allowed}}; };
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
    fields.foreign(key, [](const Json& /*value*/) {
      return advice("training/precision", "\"fp32\"", "CPU ranks run nothing else");
    });
  }
  for (const char* key : {"reduce_bucket_size", "allreduce_bucket_size"}) {
    fields.foreign(key, bucket_of_elements);
  }
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
      if (dataset.name != "synthetic" && dataset.path.value_or("").empty()) {
        cursor.fault("data set \"" + dataset.name +
                     "\" has no path (give \"path\": a folder with dataset.json, or use "
                     "\"synthetic\")");
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
    fields.required("micro_batch", &T::micro_batch, per_rank_value(),
                    "images per rank and micro-step: one value, or a list with one for each rank");
    fields.defaulted("accumulation_steps", &T::accumulation_steps,
                     core::integer<std::int64_t>({.min = 1, .max = 65536}),
                     "micro-steps per optimizer step");
    fields.defaulted("precision", &T::precision, one_of({"fp32"}, "CPU ranks run fp32"),
                     "arithmetic and storage");
    fields.defaulted("optimizer", &T::optimizer, one_of({"adamw"}, "no other is built yet"),
                     "update rule");
    fields.defaulted("learning_rate", &T::learning_rate, core::number(core::not_negative),
                     "constant over the run");
    fields.defaulted("betas", &T::betas,
                     core::list(core::number({.min = 0.0, .max = below_one}), 2, 2),
                     "decay of the first and the second moment");
    fields.defaulted("epsilon", &T::epsilon, core::number(core::positive),
                     "added to the root of the second moment");
    fields.defaulted("weight_decay", &T::weight_decay, core::number(core::not_negative),
                     "decoupled, on every parameter as torch.optim.AdamW does");
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
    fields.defaulted("world_size", &Parallel::world_size,
                     core::integer<std::int64_t>({.min = 1, .max = most_ranks}), "ranks");
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

void check_list_length(const Experiment& experiment, const Cursor& cursor) {
  const std::size_t given = experiment.training.micro_batch.size();
  if (given == 1 || given == static_cast<std::size_t>(experiment.parallel.world_size)) return;
  cursor.at("training")
      .at("micro_batch")
      .fault("got a list of " + std::to_string(given) + " (must be one value, or one for each of " +
             std::to_string(experiment.parallel.world_size) + " ranks)");
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
  const auto& batches = experiment.training.micro_batch;
  const std::int64_t images = *std::max_element(batches.begin(), batches.end());
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
    fields.defaulted("cluster", &E::cluster, core::text(), "a cluster's id, or a path");
    fields.defaulted("framework", &E::framework, one_of({"paceline"}, "no other is built yet"),
                     "software stack that trains");
    fields.required("training", &E::training, core::record(training_fields()), "what is trained");
    fields.defaulted("parallel", &E::parallel, core::record(parallel_fields()),
                     "how ranks share the work");
    fields.defaulted("run", &E::run, core::record(run_fields()), "what is timed");
    add_foreign_keys(fields);
    fields.check(check_list_length).check(check_size_of_step);
    return fields;
  }();
  return table;
}

}  // namespace

AdamWSettings Training::adamw() const {
  return {.learning_rate = learning_rate,
          .beta1 = betas.at(0),
          .beta2 = betas.at(1),
          .epsilon = epsilon,
          .weight_decay = weight_decay};
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

Experiment read_experiment(const std::filesystem::path& path) {
  return core::from_file(path, experiment_fields());
}

Experiment read_experiment_text(std::string_view text, const std::string& file) {
  return core::from_text(text, experiment_fields(), file);
}

std::string experiment_text(const Experiment& experiment) {
  return core::to_text(experiment_fields().write(experiment));
}

std::string experiment_schema() { return core::to_text(experiment_fields().schema()); }

}  // namespace paceline::models
