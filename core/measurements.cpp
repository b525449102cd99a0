#include "core/measurements.hpp"

#include "core/fields.hpp"

namespace paceline::core {
namespace {

/// A number of ranks of one host, or of members of a collective.
ValueType<int> ranks_value(std::int64_t least) {
  return integer<int>({.min = least, .max = 1 << 20, .limit = "more ranks than any run has"});
}

const FieldTable<KernelMeasurement>& kernel_fields() {
  static const FieldTable<KernelMeasurement> table = [] {
    using K = KernelMeasurement;
    FieldTable<K> fields;
    fields.required("class", &K::kernel_class, text(), "kernels that follow one model");
    fields.required("features", &K::features, dictionary(number(not_negative)),
                    "what its time is a sum of");
    fields.required("time_us", &K::time_us, number(not_negative),
                    "median at the level's reference rate");
    fields.required("p10_us", &K::p10_us, number(not_negative), "10th percentile");
    fields.required("p90_us", &K::p90_us, number(not_negative), "90th percentile");
    fields.required("samples", &K::samples, integer<std::int64_t>({.min = 1}), "timed calls");
    return fields;
  }();
  return table;
}

const FieldTable<MeasuredLevel>& level_fields() {
  static const FieldTable<MeasuredLevel> table = [] {
    using L = MeasuredLevel;
    FieldTable<L> fields;
    fields.required("active_ranks", &L::active_ranks, ranks_value(1),
                    "ranks of the host that compute at once");
    fields.required("reference_gflop_per_s", &L::reference_gflop_per_s, number(positive),
                    "median of the reference product, per rank");
    fields.required("reference_p10", &L::reference_p10, number(positive), "10th percentile");
    fields.required("reference_p90", &L::reference_p90, number(positive), "90th percentile");
    fields.required("kernels", &L::kernels, list(record(kernel_fields()), 1), "one entry a shape");
    return fields;
  }();
  return table;
}

const FieldTable<ExchangeMeasurement>& exchange_fields() {
  static const FieldTable<ExchangeMeasurement> table = [] {
    using E = ExchangeMeasurement;
    FieldTable<E> fields;
    fields.required("bytes", &E::bytes, bytes_value(), "each way");
    fields.required("time_us", &E::time_us, number(positive), "median");
    fields.required("p10_us", &E::p10_us, number(positive), "10th percentile");
    fields.required("p90_us", &E::p90_us, number(positive), "90th percentile");
    return fields;
  }();
  return table;
}

const FieldTable<ReductionMeasurement>& reduction_fields() {
  static const FieldTable<ReductionMeasurement> table = [] {
    FieldTable<ReductionMeasurement> fields;
    fields.required("bytes", &ReductionMeasurement::bytes, bytes_value(), "added");
    fields.required("time_us", &ReductionMeasurement::time_us, number(positive), "median");
    return fields;
  }();
  return table;
}

const FieldTable<CollectiveMeasurement>& collective_fields() {
  static const FieldTable<CollectiveMeasurement> table = [] {
    using C = CollectiveMeasurement;
    FieldTable<C> fields;
    fields.required("kind", &C::kind, text(), "collective");
    fields.required("algorithm", &C::algorithm, text(), "schedule");
    fields.required("ranks", &C::ranks, ranks_value(2), "members");
    fields.required("bytes", &C::bytes, bytes_value(), "payload");
    fields.required("time_us", &C::time_us, number(positive), "median");
    return fields;
  }();
  return table;
}

const FieldTable<Measurements>& measurements_fields() {
  static const FieldTable<Measurements> table = [] {
    using M = Measurements;
    FieldTable<M> fields;
    fields.document("measurements");
    fields.defaulted("provenance", &M::provenance, dictionary(text()), "where and when");
    fields.required("threads_per_rank", &M::threads_per_rank, integer<int>({.min = 1}),
                    "threads of every rank");
    fields.required("cores", &M::cores, integer<std::int64_t>({.min = 1}),
                    "that the processes may use");
    fields.required("memory_bytes", &M::memory, bytes_value(), "of the host");
    fields.required("host_issue_us", &M::host_issue_us, number(not_negative),
                    "interpreter's own time per operation");
    fields.required("levels", &M::levels, list(record(level_fields()), 1),
                    "kernels by number of active ranks");
    fields.defaulted("transport", &M::transport, text(), "how ranks talk");
    fields.defaulted("exchanges", &M::exchanges, list(record(exchange_fields())),
                     "two ranks, both ways at once");
    fields.defaulted("reductions", &M::reductions, list(record(reduction_fields())),
                     "adding a received slice");
    fields.defaulted("collectives", &M::collectives, list(record(collective_fields())),
                     "whole collectives, to check with");
    return fields;
  }();
  return table;
}

}  // namespace

Measurements read_measurements(const std::filesystem::path& path) {
  return from_file(path, measurements_fields());
}

Measurements read_measurements_text(std::string_view text, const std::string& file) {
  return from_text(text, measurements_fields(), file);
}

std::string measurements_text(const Measurements& measurements) {
  return to_text(measurements_fields().write(measurements));
}

std::string measurements_schema() { return to_text(measurements_fields().schema()); }

}  // namespace paceline::core
