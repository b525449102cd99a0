#include "core/trace.hpp"

#include "core/json.hpp"

namespace paceline::core {
namespace {

Json metadata(const char* what, int rank, int stream, Json args) {
  return {{"ph", "M"},     {"name", what}, {"pid", rank},
          {"tid", stream}, {"ts", 0},      {"args", std::move(args)}};
}

void append(std::string& text, const Json& event) {
  if (text.back() != '[') text += ',';
  text += '\n';
  text += event.dump();
}

void append_names(std::string& text, const TraceRank& rank) {
  append(text, metadata("process_name", rank.rank, 0, {{"name", rank.name}}));
  append(text, metadata("process_labels", rank.rank, 0,
                        {{"labels", "rank " + std::to_string(rank.rank)}}));
  append(text, metadata("process_sort_index", rank.rank, 0, {{"sort_index", rank.rank}}));
  for (std::size_t stream = 0; stream < count_of<Stream>; ++stream) {
    const int number = static_cast<int>(stream);
    append(text, metadata("thread_name", rank.rank, number,
                          {{"name", spelling(static_cast<Stream>(stream))}}));
    append(text, metadata("thread_sort_index", rank.rank, number, {{"sort_index", number}}));
  }
}

Json json_of(const TraceEvent& event) {
  Json json{{"ph", "X"},
            {"cat", spelling(event.category)},
            {"name", event.name},
            {"pid", event.rank},
            {"tid", static_cast<int>(event.stream)},
            {"ts", event.start_us},
            {"dur", event.duration_us}};
  if (!event.args.empty()) json["args"] = event.args;
  return json;
}

}  // namespace

std::string trace_text(const Trace& trace) {
  const int first_rank = trace.ranks.empty() ? 0 : trace.ranks.front().rank;
  const Json information{
      {"backend", trace.backend}, {"rank", first_rank}, {"world_size", trace.world_size}};
  std::string text = "{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ms\",\n";
  text += "\"distributedInfo\": " + information.dump() + ",\n\"traceEvents\": [";
  for (const TraceRank& rank : trace.ranks) append_names(text, rank);
  for (const TraceEvent& event : trace.events) append(text, json_of(event));
  return text + "\n]\n}\n";
}

}  // namespace paceline::core
