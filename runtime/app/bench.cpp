#include "runtime/app/bench.hpp"

#include <fmt/format.h>

#include <charconv>
#include <iostream>

#include "core/error.hpp"
#include "runtime/app/command_options.hpp"
#include "runtime/kernels/threads.hpp"
#include "runtime/measure/collective_benchmark.hpp"
#include "runtime/measure/host.hpp"
#include "runtime/measure/kernel_benchmark.hpp"

namespace paceline::runtime {
namespace {

namespace po = boost::program_options;

constexpr const char* bench_help = R"(usage: paceline-rt bench gemm|attention|memory|collectives

  gemm         products by shape and transposition, GFLOP/s
  attention    forward and backward by shape, GFLOP/s
  memory       copy, add and accumulate by size, GB/s (1e9)
  collectives  all-reduce or sendrecv by size, in the columns and conventions of nccl-tests

Several ranks measure at once: mpirun -n 2 paceline-rt bench collectives
Options of one of them: paceline-rt bench gemm --help

Example:
  paceline-rt bench gemm --shape 512x512x512 --seconds 0.1
)";

/// What a table says about a kernel's work.
enum class Rate : std::uint8_t { flops, bytes };

void print_rows(const std::string& header, int ranks, const std::vector<BenchmarkRow>& rows,
                Rate rate) {
  std::cout << fmt::format(
      "# fp32, {} rank{} at once, {} thread{} a rank; the slowest rank's "
      "median, p10, p90 over calls\n",
      ranks, ranks == 1 ? "" : "s", kernels::thread_count(),
      kernels::thread_count() == 1 ? "" : "s");
  std::cout << fmt::format("{:<28}{:>12}{:>12}{:>12}{:>8}{:>12}\n", header, "median us", "p10 us",
                           "p90 us", "calls", rate == Rate::flops ? "GFLOP/s" : "GB/s");
  for (const BenchmarkRow& row : rows) {
    std::cout << fmt::format("{:<28}{:>12.2f}{:>12.2f}{:>12.2f}{:>8}{:>12.2f}\n", row.what,
                             row.median_us, row.p10_us, row.p90_us, row.calls,
                             rate == Rate::flops ? row.gflop_per_s() : row.gb_per_s());
  }
}

po::options_description kernel_options() {
  po::options_description options("options");
  options.add_options()("seconds", po::value<double>()->default_value(0.2),
                        "how long each row is measured, about")(
      "threads", po::value<int>()->default_value(1), "threads of every rank");
  return options;
}

BenchmarkTime kernel_settings(const ParsedOptions& parsed) {
  const double seconds = parsed.number("seconds");
  require_between("seconds", seconds, 0.001, 600);
  require_between("threads", parsed.integer("threads"), 1, 1024);
  kernels::set_thread_count(parsed.integer("threads"));
  return {.seconds_per_row = seconds};
}

std::vector<std::string> texts_of(const ParsedOptions& parsed, const char* name) {
  if (parsed.values.count(name) == 0) return {};
  return parsed.values[name].as<std::vector<std::string>>();
}

std::vector<models::MatmulShape> gemm_shapes(const std::vector<std::string>& given) {
  using models::MatmulShape;
  using models::Transpose;
  std::vector<MatmulShape> shapes;
  const auto add_layouts = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    // As a linear layer's forward, input gradient and weight gradient lay their operands.
    shapes.push_back({.m = m, .n = n, .k = k, .a = Transpose::no, .b = Transpose::yes});
    shapes.push_back({.m = m, .n = n, .k = k, .a = Transpose::no, .b = Transpose::no});
    shapes.push_back({.m = m, .n = n, .k = k, .a = Transpose::yes, .b = Transpose::no});
  };
  for (const std::string& text : given) {
    const auto extents = parse_extents("shape", text, 3);
    add_layouts(extents[0], extents[1], extents[2]);
  }
  if (!given.empty()) return shapes;
  for (const std::int64_t side : {64, 128, 256, 512, 1024}) add_layouts(side, side, side);
  constexpr std::int64_t rows = 1576;  // 8 images of 197 tokens: vit_small_patch16_224
  constexpr std::int64_t width = 384;
  for (const std::int64_t columns : {3 * width, width, 4 * width}) {
    add_layouts(rows, columns, width);
  }
  return shapes;
}

int bench_gemm(const std::vector<std::string>& arguments) {
  po::options_description options = kernel_options();
  options.add_options()("shape", po::value<std::vector<std::string>>()->composing(),
                        "MxNxK, may be given several times; else squares and a ViT-S layer's");
  const ParsedOptions parsed =
      parse_options(arguments, options, {}, "paceline-rt bench gemm [--shape MxNxK]…");
  if (parsed.asked_for_help) return 0;
  const auto shapes = gemm_shapes(texts_of(parsed, "shape"));
  const BenchmarkTime time = kernel_settings(parsed);
  const auto communicator = make_communicator();
  const auto rows = benchmark_gemm(*communicator, shapes, time);
  if (communicator->rank() == 0) {
    print_rows("m x n x k, layout of A, B", communicator->size(), rows, Rate::flops);
  }
  return 0;
}

int bench_attention(const std::vector<std::string>& arguments) {
  po::options_description options = kernel_options();
  options.add_options()("shape", po::value<std::vector<std::string>>()->composing(),
                        "IMAGESxHEADSxTOKENSxHEAD_DIMENSION, may be given several times");
  const ParsedOptions parsed =
      parse_options(arguments, options, {}, "paceline-rt bench attention [--shape BxHxSxD]…");
  if (parsed.asked_for_help) return 0;
  std::vector<models::AttentionShape> shapes;
  for (const std::string& text : texts_of(parsed, "shape")) {
    const auto extents = parse_extents("shape", text, 4);
    shapes.push_back({.batch = extents[0],
                      .heads = extents[1],
                      .tokens = extents[2],
                      .head_dimension = extents[3]});
  }
  if (shapes.empty()) {
    for (const std::int64_t tokens : {17, 65, 197}) {
      for (const std::int64_t dimension : {32, 64}) {
        shapes.push_back({.batch = 8, .heads = 6, .tokens = tokens, .head_dimension = dimension});
      }
    }
  }
  const BenchmarkTime time = kernel_settings(parsed);
  const auto communicator = make_communicator();
  const auto rows = benchmark_attention(*communicator, shapes, time);
  if (communicator->rank() == 0) {
    print_rows("images x heads x tokens x d", communicator->size(), rows, Rate::flops);
  }
  return 0;
}

int bench_memory(const std::vector<std::string>& arguments) {
  po::options_description options = kernel_options();
  options.add_options()("min-bytes,b", po::value<std::string>()->default_value("4K"),
                        "smallest vector")(
      "max-bytes,e", po::value<std::string>()->default_value("64M"), "largest vector");
  const ParsedOptions parsed =
      parse_options(arguments, options, {}, "paceline-rt bench memory [--max-bytes 64M]");
  if (parsed.asked_for_help) return 0;
  const std::int64_t smallest = parse_bytes("min-bytes", parsed.required_text("min-bytes"));
  const std::int64_t largest = parse_bytes("max-bytes", parsed.required_text("max-bytes"));
  require_between("max-bytes", static_cast<double>(largest), static_cast<double>(smallest), 1e11);
  require_between("min-bytes", static_cast<double>(smallest), sizeof(float), 1e11);
  std::vector<std::int64_t> sizes;
  constexpr std::int64_t factor = 4;
  for (std::int64_t size = smallest; size <= largest; size *= factor) sizes.push_back(size);
  const BenchmarkTime time = kernel_settings(parsed);
  const auto communicator = make_communicator();
  const auto rows = benchmark_memory(*communicator, sizes, time);
  if (communicator->rank() == 0) {
    print_rows("bytes of one vector", communicator->size(), rows, Rate::bytes);
  }
  return 0;
}

BenchmarkCollective collective_named(const std::string& name) {
  for (std::size_t i = 0; i < core::count_of<BenchmarkCollective>; ++i) {
    const auto collective = static_cast<BenchmarkCollective>(i);
    if (core::spelling(collective) == name) return collective;
  }
  throw core::UsageError("--collective: got \"" + name + "\" (must be all_reduce or sendrecv)");
}

int bench_collectives(const std::vector<std::string>& arguments) {
  po::options_description options("options");
  options.add_options()("collective", po::value<std::string>()->default_value("all_reduce"),
                        "all_reduce or sendrecv")(
      "min-bytes,b", po::value<std::string>()->default_value("8"), "smallest message")(
      "max-bytes,e", po::value<std::string>()->default_value("64M"), "largest message")(
      "step-factor,f", po::value<double>()->default_value(2), "from one size to the next")(
      "iters,n", po::value<int>()->default_value(20), "timed iterations of each size")(
      "warmup-iters,w", po::value<int>()->default_value(5), "before them");
  const ParsedOptions parsed =
      parse_options(arguments, options, {}, "mpirun -n 2 paceline-rt bench collectives");
  if (parsed.asked_for_help) return 0;
  CollectiveBenchmark settings;
  settings.collective = collective_named(parsed.required_text("collective"));
  settings.min_bytes = parse_bytes("min-bytes", parsed.required_text("min-bytes"));
  settings.max_bytes = parse_bytes("max-bytes", parsed.required_text("max-bytes"));
  settings.step_factor = parsed.number("step-factor");
  settings.iterations = parsed.integer("iters");
  settings.warmup_iterations = parsed.integer("warmup-iters");
  require_between("max-bytes", static_cast<double>(settings.max_bytes),
                  static_cast<double>(settings.min_bytes), 2147483647);
  require_between("min-bytes", static_cast<double>(settings.min_bytes), sizeof(float), 2147483647);
  require_between("step-factor", settings.step_factor, 1.01, 1e9);
  require_between("iters", settings.iterations, 1, 1e6);
  require_between("warmup-iters", settings.warmup_iterations, 0, 1e6);
  const auto communicator = make_communicator();
  const auto rows = benchmark_collective(*communicator, settings);
  std::int64_t wrong = 0;
  for (const CollectiveRow& row : rows) wrong += row.out_of_place.wrong + row.in_place.wrong;
  if (communicator->rank() == 0) {
    std::cout << nccl_tests_text(settings, communicator->size(), communicator->library(), rows);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

std::int64_t parse_bytes(const std::string& option, const std::string& text) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::string unit(rest, end);
  int shift = 0;
  bool good = error == std::errc() && value >= 1 && value <= most;
  if (unit == "K" || unit == "k") {
    shift = 10;
  } else if (unit == "M" || unit == "m") {
    shift = 20;
  } else if (unit == "G" || unit == "g") {
    shift = 30;
  } else {
    good = good && unit.empty();
  }
  if (!good || value > (most >> shift)) {
    throw core::UsageError("--" + option + ": got \"" + text +
                           "\" (must be bytes, as 8, 64K, 4M or 1G with powers of 1024)");
  }
  return value << shift;
}

std::vector<std::int64_t> parse_extents(const std::string& option, const std::string& text,
                                        std::size_t count) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  std::vector<std::int64_t> extents;
  const char* at = text.data();
  const char* const end = at + text.size();
  bool good = true;
  while (good) {
    std::int64_t extent = 0;
    const auto [rest, error] = std::from_chars(at, end, extent);
    good = error == std::errc() && extent >= 1 && extent <= most;
    extents.push_back(extent);
    if (rest == end) break;
    good = good && *rest == 'x';
    at = rest + 1;
  }
  if (good && extents.size() == count) return extents;
  throw core::UsageError("--" + option + ": got \"" + text + "\" (must be " +
                         std::to_string(count) + " whole numbers of 1 to 1048576 with x between)");
}

int bench_command(const std::vector<std::string>& arguments) {
  const std::string what = arguments.empty() ? "help" : arguments.front();
  const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1),
                                      arguments.end());
  if (what == "gemm") return bench_gemm(rest);
  if (what == "attention") return bench_attention(rest);
  if (what == "memory") return bench_memory(rest);
  if (what == "collectives") return bench_collectives(rest);
  if (what == "help" || what == "--help" || what == "-h") {
    std::cout << bench_help;
    return arguments.empty() ? 2 : 0;
  }
  throw core::UsageError("bench does not know \"" + what +
                         "\" (must be gemm, attention, memory or collectives)");
}

}  // namespace paceline::runtime
