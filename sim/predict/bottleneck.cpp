#include "sim/predict/bottleneck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace paceline::sim {
namespace {

using core::Cause;
using core::TimelinePhase;

/// Two significant digits or more, no exponent.
std::string two_digits(double value) {
  if (!(value > 0)) return "0";
  constexpr double rounded_up = 1.005;  // 9.96 is written as 10
  const double magnitude = std::floor(std::log10(value * rounded_up));
  const int decimals = std::max(0, 1 - static_cast<int>(magnitude));
  return fmt::format("{:.{}f}", value, decimals);
}

std::string seconds_text(core::Time time) { return two_digits(time.seconds()) + " s"; }

/// "1.2 s of each 1.6 s step (75 %)"
std::string amount_text(core::Time part, core::Time step) {
  return fmt::format("{} of each {} step ({:.0f} %)", seconds_text(part), seconds_text(step),
                     100.0 * part.seconds() / step.seconds());
}

/// What the step gains if `saved` goes: "up to 1.3×".
std::string gain_text(double saved_s, core::Time step) {
  const double rest = step.seconds() - saved_s;
  return fmt::format("up to {}×", two_digits(rest > 0 ? step.seconds() / rest : 1.0));
}

std::string belief_text(const StepLoad& load) {
  if (load.interval_90_us.size() != 2) return "";
  return fmt::format(" (90 % interval of the step: {}–{} s)",
                     two_digits(load.interval_90_us[0] * 1e-6),
                     two_digits(load.interval_90_us[1] * 1e-6));
}

std::string gradients_text(core::Bytes bytes) {
  return two_digits(static_cast<double>(bytes.value()) * 1e-6) + " MB of gradients";
}

struct Candidate {
  Cause cause;
  core::Time amount;
};

core::Time mean_wait(const StepLoad& load) {
  std::int64_t sum = 0;
  for (const RankLoad& rank : load.ranks) {
    sum += rank.phases[TimelinePhase::straggler_wait].ps() /
           static_cast<std::int64_t>(load.ranks.size());
  }
  return core::Time::from_ps(sum);
}

std::string sentence_of(const Candidate& found, const StepLoad& load, std::size_t slowest) {
  const RankLoad& rank = load.ranks[slowest];
  const std::string amount = amount_text(found.amount, load.step);
  const std::string half = gain_text(found.amount.seconds() / 2, load.step);
  switch (found.cause) {
    case Cause::memory_bandwidth:
      return fmt::format(
          "{} spends {} on operations that move more than they compute (LayerNorm, GELU, "
          "residuals, AdamW); twice the memory bandwidth would give {}",
          rank.device_name, amount, half);
    case Cause::host_launch:
      return fmt::format(
          "{} idles {}: the host issues {} operators a step at {} µs each and the GPU finishes "
          "them "
          "sooner; a host twice as fast would give {}",
          rank.device_name, amount, rank.operators,
          two_digits(rank.host_busy.us() / static_cast<double>(rank.operators)), half);
    case Cause::copy_to_gpu:
      return fmt::format(
          "Copying images to the {} takes {}; copies beside computing, or images as bytes, would "
          "give {}",
          rank.device_name, amount, gain_text(found.amount.seconds(), load.step));
    case Cause::data_loading:
      return fmt::format("The loader takes {}; one twice as fast would give {}", amount, half);
    case Cause::intra_node_link:
      return fmt::format(
          "The link between ranks of a node takes {} for {} that nothing hides; twice its rate "
          "would give {}",
          amount, gradients_text(load.gradient_bytes), half);
    case Cause::network:
      return fmt::format(
          "The network takes {} for {} that nothing hides; twice its rate would give {}", amount,
          gradients_text(load.gradient_bytes), half);
    case Cause::slow_device:
      return fmt::format(
          "Rank {} ({}, {} images) keeps others waiting for {}; images divided by speed would give "
          "{}",
          slowest, rank.device_name, rank.micro_batch, amount,
          gain_text(mean_wait(load).seconds(), load.step));
    default:
      return fmt::format(
          "{} spends {} on matrix products and attention; a processor twice as fast at them would "
          "give {}",
          rank.device_name, amount, half);
  }
}

core::Time longest_wait(const StepLoad& load) {
  core::Time longest;
  for (const RankLoad& rank : load.ranks) {
    longest = std::max(longest, rank.phases[TimelinePhase::straggler_wait]);
  }
  return longest;
}

}  // namespace

std::size_t slowest_rank(const std::vector<RankLoad>& ranks) {
  const auto slowest =
      std::min_element(ranks.begin(), ranks.end(), [](const RankLoad& a, const RankLoad& b) {
        return a.phases[TimelinePhase::straggler_wait] < b.phases[TimelinePhase::straggler_wait];
      });
  return static_cast<std::size_t>(slowest - ranks.begin());
}

core::Bottleneck bottleneck_of(const StepLoad& load) {
  const std::size_t slowest = slowest_rank(load.ranks);
  const RankLoad& rank = load.ranks[slowest];
  const Cause link = load.reach == Reach::several_nodes ? Cause::network : Cause::intra_node_link;
  const std::vector<Candidate> candidates{
      {Cause::compute, rank.products},
      {Cause::memory_bandwidth, rank.other_kernels},
      {Cause::host_launch, rank.phases[TimelinePhase::host_bound_idle]},
      {Cause::copy_to_gpu, rank.phases[TimelinePhase::copy_wait]},
      {Cause::data_loading, rank.phases[TimelinePhase::data_wait]},
      {link, rank.phases[TimelinePhase::exposed_communication]},
      {Cause::slow_device, longest_wait(load)}};
  const auto found =
      std::max_element(candidates.begin(), candidates.end(),
                       [](const Candidate& a, const Candidate& b) { return a.amount < b.amount; });
  return {.cause = found->cause,
          .sentence = sentence_of(*found, load, slowest) + belief_text(load) + "."};
}

core::Bottleneck memory_bottleneck(int rank, const std::string& device_name, const MemoryFit& fit,
                                   std::int64_t largest_micro_batch) {
  const auto gib = [](core::Bytes bytes) {
    return two_digits(static_cast<double>(bytes.value()) / (1024.0 * 1024.0 * 1024.0));
  };
  const std::string advice = largest_micro_batch > 0
                                 ? fmt::format("largest micro-batch {}", largest_micro_batch)
                                 : "not even one image fits";
  return {.cause = Cause::memory_capacity,
          .sentence = fmt::format("Does not fit: rank {} ({}) needs {} of {} GiB at {}; {}.", rank,
                                  device_name, gib(fit.total), gib(fit.capacity),
                                  fit.peak_operation, advice)};
}

}  // namespace paceline::sim
