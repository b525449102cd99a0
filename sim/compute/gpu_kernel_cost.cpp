#include "sim/compute/gpu_kernel_cost.hpp"

#include <algorithm>
#include <cmath>

#include "sim/compute/microseconds.hpp"

namespace paceline::sim {

using core::DataType;
using core::OperationKind;

GpuKernelCost::GpuKernelCost(const hardware_profiles::Gpu& gpu, GenericEfficiency efficiency)
    : gpu_(gpu), efficiency_(efficiency) {}

double GpuKernelCost::peak_flop_per_s(DataType type) const {
  constexpr double tera = 1e12;
  const auto stated = [&](DataType one) {
    const auto& peak = gpu_.dense_peak_tflop_per_s[one];
    return peak ? peak->value * tera : 0.0;
  };
  return std::max(stated(type), stated(DataType::fp32));
}

namespace {

double up(double a, double b) { return std::ceil(a / b); }

bool on_tensor_cores(const GpuKernelCost& cost, DataType type) {
  return type != DataType::fp32 &&
         cost.peak_flop_per_s(type) > 1.5 * cost.peak_flop_per_s(DataType::fp32);
}

}  // namespace

double GpuKernelCost::quantisation(const models::MatmulShape& shape) const {
  // Libraries choose among tiles; the best of three usual ones is taken.
  struct Tile {
    double m, n;
  };
  constexpr Tile tiles[] = {{128, 256}, {128, 192}, {128, 128}, {64, 128}, {64, 64}};
  constexpr double small_tile_share = 0.95;  // smaller tiles reuse less
  constexpr double least_k = 1024;           // a split of the sum is worth it from here on
  const auto sms = static_cast<double>(gpu_.streaming_multiprocessors.value);
  double best = 0.0;
  double share = 1.0;
  for (const Tile& tile : tiles) {
    const double across = up(static_cast<double>(shape.m), tile.m);
    const double down = up(static_cast<double>(shape.n), tile.n);
    const double filled = static_cast<double>(shape.m) * static_cast<double>(shape.n) /
                          (across * tile.m * down * tile.n);
    double count = across * down * static_cast<double>(shape.batch);
    if (count < sms) {
      const double splits =
          std::min(std::floor(sms / count), std::floor(static_cast<double>(shape.k) / least_k));
      count *= std::max(1.0, splits);
    }
    best = std::max(best, share * filled * count / (up(count, sms) * sms));
    share *= small_tile_share;
  }
  return best;
}

double GpuKernelCost::arithmetic_s(const models::Operation& operation) const {
  if (operation.flops.value() == 0) return 0.0;
  const auto flops = static_cast<double>(operation.flops.value());
  const double peak = peak_flop_per_s(operation.type);
  const double product = on_tensor_cores(*this, operation.type) ? efficiency_.tensor_core_product
                                                                : efficiency_.fp32_product;
  const double fp32 = peak_flop_per_s(DataType::fp32);
  const bool tensor_cores =
      on_tensor_cores(*this, operation.type) && core::bytes_per_element(operation.type) < 4;
  switch (operation.kind) {
    case OperationKind::attention:
      return flops / (tensor_cores
                          ? std::min(peak / 2, clocks_per_s() * efficiency_.attention_forward)
                          : fp32 * efficiency_.fp32_attention_forward);
    case OperationKind::attention_gradient:
      return flops / (tensor_cores
                          ? std::min(peak / 2, clocks_per_s() * efficiency_.attention_backward)
                          : fp32 * efficiency_.fp32_attention_backward);
    case OperationKind::convolution:
      return flops / (fp32 * efficiency_.convolution);
    case OperationKind::convolution_gradient:
      return flops / (fp32 * efficiency_.convolution_gradient);
    default: {
      const auto* shape = std::get_if<models::MatmulShape>(&operation.shape);
      const double filled = shape != nullptr ? quantisation(*shape) : 1.0;
      const auto k = shape != nullptr ? static_cast<double>(shape->k) : 0.0;
      const double ramp = k > 0 ? k / (k + efficiency_.product_ramp_k) : 1.0;
      return flops / (peak * product * filled * ramp);
    }
  }
}

double GpuKernelCost::clocks_per_s() const {
  constexpr double mega = 1e6;
  return static_cast<double>(gpu_.streaming_multiprocessors.value) * gpu_.boost_clock_mhz.value *
         mega;
}

double GpuKernelCost::memory_s(const models::Operation& operation) const {
  constexpr double giga = 1e9;
  double bytes_per_clock = efficiency_.elementwise;
  switch (operation.kind) {
    case OperationKind::layer_norm:
    case OperationKind::softmax:
    case OperationKind::softmax_gradient:
      bytes_per_clock = efficiency_.layer_norm;
      break;
    case OperationKind::layer_norm_gradient:
      bytes_per_clock = efficiency_.layer_norm_gradient;
      break;
    case OperationKind::bias_gradient:
      bytes_per_clock = efficiency_.column_sum;
      break;
    case OperationKind::copy:
    case OperationKind::concatenate:
      bytes_per_clock = efficiency_.layout_change;
      break;
    case OperationKind::adamw:
    case OperationKind::sgd:
      bytes_per_clock = efficiency_.optimizer;
      break;
    default:
      break;
  }
  const auto bytes = static_cast<double>((operation.bytes_read + operation.bytes_written).value());
  return bytes / std::min(gpu_.memory_bandwidth_gb_per_s.value * giga * efficiency_.memory,
                          clocks_per_s() * bytes_per_clock);
}

core::Time GpuKernelCost::time_of(const models::Operation& operation) const {
  constexpr double us_per_s = 1e6;
  const double work = std::max(arithmetic_s(operation), memory_s(operation));
  return time_of_us(efficiency_.launch_floor_us * operation.launches + work * us_per_s,
                    "the time of " + operation.name());
}

}  // namespace paceline::sim
