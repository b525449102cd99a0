#include "core/trace.hpp"

#include <variant>

#include "core/fields.hpp"

namespace paceline::core {
namespace {

/// What an event of phase M names or orders.
enum class Label : std::uint8_t {
  process_name,
  process_labels,
  process_sort_index,
  thread_name,
  thread_sort_index
};

/// An event of phase M.
struct Metadata {
  Label label = Label::process_name;
  int rank = 0;
  int stream = 0;
  Json args = Json::object();
};

using Entry = std::variant<Metadata, TraceEvent>;

/// `distributedInfo`.
struct Distribution {
  std::string backend;
  int rank = 0;  // the first in the file
  int world_size = 1;
};

struct TraceFile {
  Distribution distribution;
  std::vector<Entry> entries;
};

constexpr int most_ranks = 1 << 20;
constexpr NumberRange within_a_step{.min = 0.0, .max = 8.64e12, .limit = "100 days"};

}  // namespace

template <>
struct Spelling<Label> {
  static constexpr std::array words{"process_name", "process_labels", "process_sort_index",
                                    "thread_name", "thread_sort_index"};
};

namespace {

ValueType<int> rank_value() {
  return integer<int>({.min = 0, .max = most_ranks - 1, .limit = "the largest rank"});
}

ValueType<int> stream_number() {
  return integer<int>({.min = 0, .max = static_cast<int>(count_of<Stream>) - 1});
}

/// A key of T that has always the same value.
template <class T>
ValueType<T> always(const Json& constant) {
  return {[constant](const Json& json, const Cursor& cursor, T& /*object*/) {
            if (json != constant) {
              cursor.fault("got " + shown(json) + " (must be " + constant.dump() + ")");
            }
          },
          [constant](const T& /*object*/) { return constant; },
          [constant] { return Json{{"const", constant}}; }};
}

ValueType<Json> object_value() {
  return {[](const Json& json, const Cursor& cursor, Json& value) {
            if (detail::expect(json.is_object(), json, cursor, "an object")) value = json;
          },
          [](const Json& value) { return value; }, [] { return Json{{"type", "object"}}; }};
}

const FieldTable<Metadata>& metadata_fields() {
  static const FieldTable<Metadata> table = [] {
    using M = Metadata;
    FieldTable<M> fields;
    fields.whole("ph", always<M>("M"), "a name or an order");
    fields.required("name", &M::label, word<Label>(), "of what");
    fields.required("pid", &M::rank, rank_value(), "rank");
    fields.required("tid", &M::stream, stream_number(), "stream");
    fields.whole("ts", always<M>(0), "it has no time");
    fields.required("args", &M::args, object_value(), "the name or the place");
    return fields;
  }();
  return table;
}

const FieldTable<TraceEvent>& event_fields() {
  static const FieldTable<TraceEvent> table = [] {
    using E = TraceEvent;
    FieldTable<E> fields;
    fields.whole("ph", always<E>("X"), "a span of time");
    fields.required("cat", &E::category, word<TraceCategory>(), "kernel, or a span around some");
    fields.required("name", &E::name, text(), "of operations: their name in the Program");
    fields.required("pid", &E::rank, rank_value(), "rank");
    ValueType<E> stream;
    stream.read = [](const Json& json, const Cursor& cursor, E& event) {
      int read = 0;
      stream_number().read(json, cursor, read);
      event.stream = static_cast<Stream>(read);
    };
    stream.write = [](const E& event) { return Json(static_cast<int>(event.stream)); };
    stream.schema = stream_number().schema;
    fields.whole("tid", stream, "stream");
    fields.required("ts", &E::start_us, number(within_a_step), "start, microseconds");
    fields.required("dur", &E::duration_us, number(within_a_step), "microseconds");
    fields.defaulted("args", &E::args, dictionary(text()), "more about it");
    return fields;
  }();
  return table;
}

/// One of `traceEvents`: `ph` says which.
ValueType<Entry> entry_value() {
  ValueType<Entry> type;
  type.read = [](const Json& json, const Cursor& cursor, Entry& entry) {
    if (json.is_object() && json.contains("ph") && json["ph"] == "M") {
      metadata_fields().read(json, cursor, entry.emplace<Metadata>());
    } else if (json.is_object() && json.contains("ph") && json["ph"] != "X") {
      cursor.at("ph").fault("got " + shown(json["ph"]) + " (must be \"X\", or \"M\")");
    } else {
      event_fields().read(json, cursor, entry.emplace<TraceEvent>());
    }
  };
  type.write = [](const Entry& entry) {
    if (const auto* metadata = std::get_if<Metadata>(&entry)) {
      return metadata_fields().write(*metadata);
    }
    const auto& event = std::get<TraceEvent>(entry);
    Json json = event_fields().write(event);
    if (event.args.empty()) json.erase("args");
    return json;
  };
  type.schema = [] {
    return Json{{"anyOf", {event_fields().schema(), metadata_fields().schema()}}};
  };
  return type;
}

const FieldTable<Distribution>& distribution_fields() {
  static const FieldTable<Distribution> table = [] {
    using D = Distribution;
    FieldTable<D> fields;
    fields.required("backend", &D::backend, text(), "how ranks talk; none for one rank");
    fields.required("rank", &D::rank, rank_value(), "the first in the file");
    fields.required("world_size", &D::world_size, integer<int>({.min = 1, .max = most_ranks}),
                    "ranks of the run");
    return fields;
  }();
  return table;
}

void check_ranks(const TraceFile& file, const Cursor& cursor) {
  const int world_size = file.distribution.world_size;
  for (std::size_t i = 0; i < file.entries.size(); ++i) {
    const int rank = std::visit([](const auto& entry) { return entry.rank; }, file.entries[i]);
    if (rank < world_size) continue;
    cursor.at("traceEvents")
        .at(i)
        .at("pid")
        .fault("got " + std::to_string(rank) + " (must be < " + std::to_string(world_size) +
               ", the world_size of distributedInfo)");
  }
}

const FieldTable<TraceFile>& trace_fields() {
  static const FieldTable<TraceFile> table = [] {
    using T = TraceFile;
    FieldTable<T> fields;
    fields.whole("schemaVersion", always<T>(1), "of PyTorch's profiler");
    fields.whole("displayTimeUnit", always<T>("ms"), "for the viewer; times stay microseconds");
    fields.required("distributedInfo", &T::distribution, record(distribution_fields()),
                    "the run's ranks");
    fields.required("traceEvents", &T::entries, list(entry_value()),
                    "names of ranks and streams, then spans");
    fields.check(check_ranks);
    return fields;
  }();
  return table;
}

void add_names(std::vector<Entry>& entries, const TraceRank& rank) {
  const auto add = [&](Label label, int stream, Json args) {
    entries.emplace_back(Metadata{label, rank.rank, stream, std::move(args)});
  };
  add(Label::process_name, 0, {{"name", rank.name}});
  add(Label::process_labels, 0, {{"labels", "rank " + std::to_string(rank.rank)}});
  add(Label::process_sort_index, 0, {{"sort_index", rank.rank}});
  for (std::size_t stream = 0; stream < count_of<Stream>; ++stream) {
    const int number = static_cast<int>(stream);
    add(Label::thread_name, number, {{"name", spelling(static_cast<Stream>(stream))}});
    add(Label::thread_sort_index, number, {{"sort_index", number}});
  }
}

}  // namespace

std::string trace_text(const Trace& trace) {
  TraceFile file;
  file.distribution = {trace.backend, trace.ranks.empty() ? 0 : trace.ranks.front().rank,
                       trace.world_size};
  for (const TraceRank& rank : trace.ranks) add_names(file.entries, rank);
  file.entries.insert(file.entries.end(), trace.events.begin(), trace.events.end());

  std::string text = "{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ms\",\n";
  text += "\"distributedInfo\": " + distribution_fields().write(file.distribution).dump() +
          ",\n\"traceEvents\": [";
  const auto entry = entry_value();
  for (std::size_t i = 0; i < file.entries.size(); ++i) {
    text += (i == 0 ? "\n" : ",\n") + entry.write(file.entries[i]).dump();
  }
  return text + "\n]\n}\n";
}

Trace read_trace(const std::filesystem::path& path) {
  TraceFile file = from_file(path, trace_fields());
  Trace trace;
  trace.backend = std::move(file.distribution.backend);
  trace.world_size = file.distribution.world_size;
  for (Entry& entry : file.entries) {
    if (auto* event = std::get_if<TraceEvent>(&entry)) {
      trace.events.push_back(std::move(*event));
    } else if (const auto& metadata = std::get<Metadata>(entry);
               metadata.label == Label::process_name) {
      const auto name = metadata.args.find("name");
      trace.ranks.push_back({metadata.rank, name != metadata.args.end() && name->is_string()
                                                ? name->get<std::string>()
                                                : std::string()});
    }
  }
  return trace;
}

std::string trace_schema() { return to_text(trace_fields().schema()); }

}  // namespace paceline::core
