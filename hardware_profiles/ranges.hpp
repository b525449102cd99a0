#pragma once

#include "core/fields.hpp"

/// Widest values that a hardware file may state: wide enough for machines to come, narrow enough
/// to catch a value in the wrong unit. Each says what to look at.
namespace paceline::hardware_profiles {

inline constexpr core::NumberRange memory_gib_range{
    .min = 0,
    .min_excluded = true,
    .max = 1'048'576,
    .limit = "more than any machine has; is the value in bytes or MiB?"};
inline constexpr core::NumberRange gb_per_s_range{
    .min = 0,
    .min_excluded = true,
    .max = 1e6,
    .limit = "faster than any link or memory; is the value in MB/s or bytes/s?"};
inline constexpr core::NumberRange gbit_per_s_range{
    .min = 0,
    .min_excluded = true,
    .max = 1e7,
    .limit = "faster than any port; is the value in Mbit/s or bit/s?"};
inline constexpr core::NumberRange clock_mhz_range{
    .min = 0,
    .min_excluded = true,
    .max = 1e5,
    .limit = "faster than any clock; is the value in kHz or Hz?"};
inline constexpr core::NumberRange tflop_per_s_range{
    .min = 0,
    .min_excluded = true,
    .max = 1e6,
    .limit = "faster than any card; is the value in GFLOP/s?"};
inline constexpr core::NumberRange gflop_per_s_range{
    .min = 0,
    .min_excluded = true,
    .max = 1e9,
    .limit = "faster than any device; is the value in FLOP/s?"};
inline constexpr core::NumberRange cache_mib_range{
    .min = 0,
    .min_excluded = true,
    .max = 65'536,
    .limit = "larger than any cache; is the value in KiB or bytes?"};
inline constexpr core::NumberRange power_w_range{
    .min = 0,
    .min_excluded = true,
    .max = 1e5,
    .limit = "more than any card draws; is the value in mW?"};
inline constexpr core::NumberRange latency_us_range{
    .min = 0, .max = 1e9, .limit = "1000 seconds; is the value in ns?"};

}  // namespace paceline::hardware_profiles
