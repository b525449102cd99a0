#pragma once

#include <string>

#include "core/report.hpp"
#include "program.hpp"

namespace paceline::cli {

/// Measurements of a host on which every kernel takes 1 µs a call + 0.1 ns a byte + 0.05 ns a
/// multiply-add (40 GFLOP/s) + 1 ns a score, times 1 with one active rank and 1.5 with two.
[[nodiscard]] std::string planted_measurements();

/// vit_digits, 8 images on each of two ranks of `this_machine.json`.
[[nodiscard]] std::string planted_experiment();

/// What nvidia-smi prints of a machine with an RTX 3090 and a GTX 1080 Ti, 8 lanes each.
[[nodiscard]] std::string planted_gpus();
[[nodiscard]] std::string planted_topology();

/// What `paceline-rt` would have measured, had every time been `factor` times as long as in
/// `predicted`, on a host whose reference product ran at the prediction's rate / `slowness`.
[[nodiscard]] std::string measured_like(const core::Report& predicted, double factor,
                                        double slowness);

/// A workplace in which the examples of all help texts run: `measurements.json`, `experiment.json`,
/// `this_machine.json`, `predicted.json`, `measured.json` (1.25 times as long on a host 1.1 times
/// as slow), `measured.1.json`, `measured.2.json`, `gpus.csv`, `topo.txt`, and the folder `runs`.
class ExampleWorkplace : public Workplace {
 public:
  ExampleWorkplace();
};

}  // namespace paceline::cli
