#include <fmt/format.h>

#include "cli/output_file.hpp"
#include "cli/render_fit.hpp"
#include "cli/verb.hpp"
#include "core/error.hpp"
#include "core/measurements.hpp"
#include "validate/profile_fit.hpp"

namespace paceline::cli {
namespace {

/// Faults of the fit name places in the measurements: say in which file.
template <class Work>
auto with_file_name(const std::string& file, const Work& work) {
  try {
    return work();
  } catch (const core::ConfigError& error) {
    std::vector<core::Fault> faults = error.faults();
    for (core::Fault& fault : faults) fault.file = file;
    throw core::ConfigError(std::move(faults));
  }
}

int make_profile(const Arguments& arguments, const Console& console) {
  const std::string& path = arguments.positional.front();
  const auto target = output_file(arguments, "out");
  if (!target) {
    throw core::UsageError(
        "paceline make-profile: needs --out FILE (where the cluster file goes; - is standard "
        "output)");
  }
  const core::Measurements measurements = core::read_measurements(path);
  const auto device =
      with_file_name(path, [&] { return validate::fit_cpu_device(measurements, "cpu_rank"); });
  const std::string cluster =
      with_file_name(path, [&] { return validate::make_cpu_cluster(measurements); });
  if (!target->is_standard_output()) {
    console.print(fit_screen(device, measurements, console.width));
  }
  target->write(cluster, console);
  if (!target->is_standard_output()) {
    const std::string name = arguments.value("out").value_or("");
    console.print(fmt::format("\nWrote {}. Use it: --set cluster={}\n", name, name));
  }
  return 0;
}

}  // namespace

Verb make_profile_verb() {
  return {.name = "make-profile",
          .summary = "turn measurements of this machine into a cluster file",
          .operands = "MEASUREMENTS",
          .arity = {1, 1},
          .about =
              "Fits a model of each kernel to what `paceline-rt calibrate` measured, prints "
              "how well it fits, and writes a cluster file with as many ranks as were "
              "measured at once. The residual is the standard deviation of log(measured / "
              "model); predictions carry it as their interval.",
          .examples = {"paceline make-profile measurements.json --out this_machine.json"},
          .options = {{"out", "FILE", "the cluster file to write; - is standard output"}},
          .run = make_profile};
}

}  // namespace paceline::cli
