#pragma once

#include <string>
#include <vector>

#include "hardware_profiles/detected_cluster.hpp"

namespace paceline::test {

/// A row of nvidia-smi's answer.
struct GpuOfCsv {
  std::string name;
  int memory_mib;
  int generation_max, generation_now;
  int lanes_max, lanes_now;
};

inline std::string gpu_csv(const std::vector<GpuOfCsv>& cards) {
  std::string text =
      "index, name, memory.total [MiB], uuid, pcie.link.gen.max, pcie.link.gen.current, "
      "pcie.link.width.max, pcie.link.width.current\n";
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const GpuOfCsv& card = cards[i];
    text += std::to_string(i) + ", " + card.name + ", " + std::to_string(card.memory_mib) +
            " MiB, GPU-" + std::to_string(i) + ", " + std::to_string(card.generation_max) + ", " +
            std::to_string(card.generation_now) + ", " + std::to_string(card.lanes_max) + ", " +
            std::to_string(card.lanes_now) + "\n";
  }
  return text;
}

/// Texts of one machine; an empty one is not given.
inline hardware_profiles::MachineTexts texts_of(const std::string& gpus,
                                                const std::string& topology,
                                                const std::string& peers) {
  hardware_profiles::MachineTexts texts;
  texts.gpus = {"gpus.csv", gpus};
  if (!topology.empty()) texts.topology = hardware_profiles::NamedText{"topo.txt", topology};
  if (!peers.empty()) texts.peers = hardware_profiles::NamedText{"p2p.txt", peers};
  return texts;
}

}  // namespace paceline::test
