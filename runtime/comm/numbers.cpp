#include "runtime/comm/numbers.hpp"

#include <cstring>

namespace paceline::runtime {
namespace {

std::string packed(const std::vector<double>& numbers) {
  std::string text(numbers.size() * sizeof(double), '\0');
  if (!numbers.empty()) std::memcpy(text.data(), numbers.data(), text.size());
  return text;
}

std::vector<double> unpacked(const std::string& text) {
  std::vector<double> numbers(text.size() / sizeof(double));
  if (!numbers.empty()) std::memcpy(numbers.data(), text.data(), text.size());
  return numbers;
}

}  // namespace

std::vector<std::vector<double>> gather_numbers(Communicator& communicator,
                                                const std::vector<double>& numbers) {
  std::vector<std::vector<double>> all;
  for (const std::string& text : communicator.gather(packed(numbers))) {
    all.push_back(unpacked(text));
  }
  return all;
}

std::vector<double> broadcast_numbers(Communicator& communicator,
                                      const std::vector<double>& numbers) {
  return unpacked(communicator.broadcast(packed(numbers)));
}

}  // namespace paceline::runtime
