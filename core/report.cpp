#include "core/report.hpp"

#include "core/fields.hpp"

namespace paceline::core {
namespace {

constexpr std::int64_t most_ranks = 1 << 20;

/// A number of ranks, from `least` on.
template <class T>
ValueType<T> ranks_value(std::int64_t least) {
  return integer<T>({.min = least, .max = most_ranks, .limit = "more ranks than any run has"});
}

const FieldTable<Spread>& spread_fields() {
  static const FieldTable<Spread> table = [] {
    FieldTable<Spread> fields;
    fields.required("median", &Spread::median, number(not_negative), "over steps");
    fields.required("p10", &Spread::p10, number(not_negative), "10th percentile over steps");
    fields.required("p90", &Spread::p90, number(not_negative), "90th percentile over steps");
    return fields;
  }();
  return table;
}

const FieldTable<StepTime>& step_time_fields() {
  static const FieldTable<StepTime> table = [] {
    FieldTable<StepTime> fields;
    const auto interval = list(number(not_negative), 2, 2);
    fields.required("median", &StepTime::median, number(not_negative), "over steps");
    fields.required("p10", &StepTime::p10, number(not_negative), "10th percentile over steps");
    fields.required("p90", &StepTime::p90, number(not_negative), "90th percentile over steps");
    fields.optional("interval_50", &StepTime::interval_50, interval,
                    "half of all predictions hold the truth within");
    fields.optional("interval_90", &StepTime::interval_90, interval,
                    "nine in ten predictions hold the truth within");
    fields.optional("samples", &StepTime::samples, list(number(not_negative)),
                    "each timed step, the slowest rank's");
    return fields;
  }();
  return table;
}

/// `peak_memory_bytes`: total and one key for each category.
ValueType<RankReport> peak_memory_value() {
  ValueType<RankReport> type;
  const auto categories = per_word<MemoryCategory>(bytes_value());
  type.read = [=](const Json& json, const Cursor& cursor, RankReport& rank) {
    if (!json.is_object() || !json.contains("total")) {
      cursor.fault("got " + shown(json) + " (must be an object with total and each category)");
      return;
    }
    Json rest = json;
    bytes_value().read(rest["total"], cursor.at("total"), rank.peak_memory_total);
    rest.erase("total");
    categories.read(rest, cursor, rank.peak_memory);
  };
  type.write = [=](const RankReport& rank) {
    Json json{{"total", rank.peak_memory_total.value()}};
    json.update(categories.write(rank.peak_memory));
    return json;
  };
  type.schema = [=] {
    Json schema = categories.schema();
    schema["properties"]["total"] = bytes_value().schema();
    schema["required"].push_back("total");
    return schema;
  };
  return type;
}

const FieldTable<RankReport>& rank_fields() {
  static const FieldTable<RankReport> table = [] {
    using R = RankReport;
    FieldTable<R> fields;
    fields.required("rank", &R::rank, ranks_value<int>(0), "position in the world");
    fields.required("device", &R::device, text(), "id of its device");
    fields.required("micro_batch", &R::micro_batch, integer<std::int64_t>(),
                    "images per micro-step");
    fields.defaulted("represents", &R::represents, ranks_value<int>(1),
                     "ranks in the same situation that this entry stands for");
    fields.required("phases_us", &R::phases_us, per_word<TimelinePhase>(number(not_negative)),
                    "partition of the step of the compute stream");
    fields.whole("peak_memory_bytes", peak_memory_value(), "most bytes alive at once");
    fields.optional("resident_rise_bytes", &R::resident_rise, bytes_value(),
                    "rise of the process's peak resident memory over the step");
    fields.optional("clock_offset_us", &R::clock_offset_us, number(),
                    "this rank's clock minus rank 0's");
    fields.optional("clock_uncertainty_us", &R::clock_uncertainty_us, number(not_negative),
                    "half of the shortest round trip");
    fields.optional("memory_capacity_bytes", &R::memory_capacity, bytes_value(),
                    "predicted for GPUs: the card's memory");
    fields.optional("largest_micro_batch", &R::largest_micro_batch,
                    integer<std::int64_t>({.min = 0}),
                    "predicted for GPUs: the most images of a micro-step that fit");
    fields.defaulted("not_counted", &R::not_counted, list(text()), "what memory leaves out");
    return fields;
  }();
  return table;
}

const FieldTable<CollectiveReport>& collective_fields() {
  static const FieldTable<CollectiveReport> table = [] {
    using C = CollectiveReport;
    FieldTable<C> fields;
    fields.required("id", &C::id, text(), "operation name");
    fields.required("kind", &C::kind, text(), "collective");
    fields.required("bytes", &C::bytes, bytes_value(), "payload, as nccl-tests counts it");
    fields.required("algorithm", &C::algorithm, text(), "used");
    fields.required("protocol", &C::protocol, text(), "used");
    fields.required("ranks", &C::ranks, ranks_value<int>(1), "members");
    fields.required("time_us", &C::time_us, number(not_negative),
                    "from the last member's arrival to the end");
    fields.required("algbw_gb_per_s", &C::algbw_gb_per_s, number(not_negative), "bytes / time");
    fields.required("busbw_gb_per_s", &C::busbw_gb_per_s, number(not_negative),
                    "algbw × 2(n−1)/n for an all-reduce of n ranks");
    return fields;
  }();
  return table;
}

const FieldTable<OperationReport>& operation_fields() {
  static const FieldTable<OperationReport> table = [] {
    using O = OperationReport;
    FieldTable<O> fields;
    fields.required("id", &O::id, text(), "name in the Program");
    fields.required("kind", &O::kind, text(), "what it computes");
    fields.required("layer", &O::layer, integer<int>({.min = -1}), "block, -1 outside");
    fields.required("phase", &O::phase, text(), "part of the step");
    fields.required("calls", &O::calls, integer<std::int64_t>(), "timed calls");
    fields.required("time_us", &O::time_us, record(spread_fields()), "one call");
    fields.required("flops", &O::flops, flops_value(), "of products");
    fields.required("bytes", &O::bytes, bytes_value(), "read and written");
    return fields;
  }();
  return table;
}

const FieldTable<CountedWork>& counted_fields() {
  static const FieldTable<CountedWork> table = [] {
    using C = CountedWork;
    FieldTable<C> fields;
    fields.required("calls", &C::calls, integer<std::int64_t>(), "in one step");
    fields.required("flops", &C::flops, flops_value(), "of products");
    fields.required("bytes_read", &C::bytes_read, bytes_value(), "for collectives: sent");
    fields.required("bytes_written", &C::bytes_written, bytes_value(), "for collectives: received");
    return fields;
  }();
  return table;
}

const FieldTable<ReferenceRate>& reference_fields() {
  static const FieldTable<ReferenceRate> table = [] {
    using R = ReferenceRate;
    FieldTable<R> fields;
    fields.required("gflop_per_s", &R::gflop_per_s, number(positive),
                    "median over steps and ranks");
    fields.required("p10", &R::p10, number(positive), "10th percentile");
    fields.required("p90", &R::p90, number(positive), "90th percentile");
    return fields;
  }();
  return table;
}

const FieldTable<TrainingResult>& training_fields() {
  static const FieldTable<TrainingResult> table = [] {
    using T = TrainingResult;
    FieldTable<T> fields;
    const auto share = number({.min = 0.0, .max = 1.0});
    fields.required("epochs", &T::epochs, integer<std::int64_t>(), "passes over the data");
    fields.required("loss_by_epoch", &T::loss_by_epoch, list(number()), "mean over the epoch");
    fields.required("held_out_accuracy_by_epoch", &T::held_out_accuracy_by_epoch, list(share),
                    "share right after each epoch");
    fields.required("train_accuracy", &T::train_accuracy, share, "share right, training split");
    fields.required("held_out_accuracy", &T::held_out_accuracy, share, "share right, test split");
    fields.required("held_out_samples", &T::held_out_samples, integer<std::int64_t>(),
                    "images in the test split");
    fields.required("wall_time_s", &T::wall_time_s, number(not_negative), "training alone");
    return fields;
  }();
  return table;
}

const FieldTable<Assumption>& assumption_fields() {
  static const FieldTable<Assumption> table = [] {
    using A = Assumption;
    FieldTable<A> fields;
    fields.required("key", &A::key, text(), "what was not given");
    fields.required("value", &A::value, text(), "what was taken");
    fields.required("origin", &A::origin, text(), "where from");
    fields.required("step_time_us_low", &A::step_time_us_low, number(not_negative),
                    "step at the one end of its range");
    fields.required("step_time_us_high", &A::step_time_us_high, number(not_negative),
                    "step at the other end");
    return fields;
  }();
  return table;
}

const FieldTable<TrackRecord>& track_record_fields() {
  static const FieldTable<TrackRecord> table = [] {
    using T = TrackRecord;
    FieldTable<T> fields;
    fields.required("set", &T::set, text(), "measurements of this kind");
    fields.required("runs", &T::runs, integer<std::int64_t>(), "in it, fitted ones not counted");
    fields.required("median_error", &T::median_error, number(not_negative), "relative");
    fields.required("worst_error", &T::worst_error, number(not_negative), "relative");
    return fields;
  }();
  return table;
}

const FieldTable<Bottleneck>& bottleneck_fields() {
  static const FieldTable<Bottleneck> table = [] {
    FieldTable<Bottleneck> fields;
    fields.required("cause", &Bottleneck::cause, word<Cause>(), "from the closed list");
    fields.required("sentence", &Bottleneck::sentence, text(), "for people");
    return fields;
  }();
  return table;
}

const FieldTable<Identity>& identity_fields() {
  static const FieldTable<Identity> table = [] {
    using I = Identity;
    FieldTable<I> fields;
    fields.required("version", &I::version, text(), "of Paceline");
    fields.required("experiment_hash", &I::experiment_hash, text(), "of the resolved experiment");
    fields.required("profile_hash", &I::profile_hash, text(), "of the cluster file, or empty");
    fields.required("program_hashes", &I::program_hashes, list(text()), "by rank");
    return fields;
  }();
  return table;
}

const FieldTable<Report>& report_fields() {
  static const FieldTable<Report> table = [] {
    using R = Report;
    FieldTable<R> fields;
    fields.document("report");
    fields.required("kind", &R::kind, word<ReportKind>(), "predicted or measured");
    fields.required("identity", &R::identity, record(identity_fields()), "what was run");
    fields.defaulted("provenance", &R::provenance, dictionary(text()), "where and when");
    fields.required("model", &R::model, text(), "architecture");
    fields.required("framework", &R::framework, text(), "software stack");
    fields.required("world_size", &R::world_size, ranks_value<std::int64_t>(1), "ranks");
    fields.required("global_batch", &R::global_batch, integer<std::int64_t>({.min = 1}),
                    "images per step");
    fields.required("accumulation_steps", &R::accumulation_steps, integer<std::int64_t>({.min = 1}),
                    "micro-steps per step");
    fields.required("overlap", &R::overlap, boolean(), "communication beside the backward pass");
    fields.required("fits", &R::fits, boolean(), "into each device's memory");
    fields.optional("step_time_us", &R::step_time_us, record(step_time_fields()),
                    "one optimizer step");
    fields.optional("first_step_us", &R::first_step_us, number(not_negative), "before warm-up");
    fields.optional("images_per_s", &R::images_per_s, number(not_negative), "all ranks");
    fields.optional("model_flop_rate_gflop_per_s", &R::model_flop_rate_gflop_per_s,
                    number(not_negative), "products of the model over the step, all ranks");
    fields.defaulted("mfu", &R::mfu, dictionary(number(not_negative)), "by denominator");
    fields.optional("epoch_time_s", &R::epoch_time_s, number(not_negative), "steps of one epoch");
    fields.optional("gradient_bytes_on_wire", &R::gradient_bytes_on_wire, bytes_value(),
                    "payload of all gradient collectives of a step");
    fields.optional("reference_rate", &R::reference_rate, record(reference_fields()),
                    "reference product beside the steps");
    fields.defaulted("assumptions", &R::assumptions, list(record(assumption_fields())),
                     "values that the user did not give");
    fields.optional("track_record", &R::track_record, record(track_record_fields()),
                    "how far off predictions of this kind were");
    fields.required("ranks", &R::ranks, list(record(rank_fields()), 1), "one entry a rank");
    fields.defaulted("collectives", &R::collectives, list(record(collective_fields())),
                     "one entry each");
    fields.defaulted("operations", &R::operations, list(record(operation_fields())), "of rank 0");
    fields.defaulted("counted_work", &R::counted_work, list(dictionary(record(counted_fields()))),
                     "one step, by rank and operation kind");
    fields.optional("training", &R::training, record(training_fields()), "what was learnt");
    fields.optional("bottleneck", &R::bottleneck, record(bottleneck_fields()),
                    "what holds the step back");
    return fields;
  }();
  return table;
}

}  // namespace

Report read_report(const std::filesystem::path& path) { return from_file(path, report_fields()); }

Report read_report_text(std::string_view text, const std::string& file) {
  return from_text(text, report_fields(), file);
}

std::string report_text(const Report& report) { return to_text(report_fields().write(report)); }

std::string report_schema() { return to_text(report_fields().schema()); }

}  // namespace paceline::core
