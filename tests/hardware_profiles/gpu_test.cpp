#include "hardware_profiles/gpu.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/share_directory.hpp"
#include "hardware_profiles/gpu_fields.hpp"

namespace paceline::hardware_profiles {
namespace {

using core::DataType;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string message(const std::string& name) {
  try {
    (void)find_gpu(name);
  } catch (const core::ConfigError& error) {
    return error.what();
  }
  return "found";
}

TEST(ShippedGpus, every_file_loads_with_a_source_for_each_number) {
  const GpuCatalog catalog("");
  EXPECT_GE(catalog.gpus().size(), 34U);
  for (const Gpu& gpu : catalog.gpus()) {
    EXPECT_TRUE(gpu.sources.contains(gpu.memory_gib.source)) << gpu.id;
    EXPECT_TRUE(gpu.dense_peak_tflop_per_s[DataType::fp32].has_value()) << gpu.id;
    EXPECT_EQ(catalog.find(gpu.id).gpu, &gpu);
    for (const std::string& alias : gpu.aliases) EXPECT_EQ(catalog.find(alias).gpu, &gpu) << alias;
    if (gpu.default_node) {
      EXPECT_TRUE(find_profile("nodes", *gpu.default_node, "").has_value()) << gpu.id;
    }
  }
}

TEST(ShippedGpus, what_a_file_says_is_read) {
  const Gpu t4 = find_gpu("t4");
  EXPECT_EQ(t4.name, "NVIDIA T4");
  EXPECT_EQ(t4.architecture, GpuArchitecture::turing);
  EXPECT_EQ(t4.compute_capability_number(), 75);
  EXPECT_EQ(t4.memory_gib.value, 15.0);
  EXPECT_EQ(t4.memory_gib.certainty, Certainty::stated);
  EXPECT_EQ(t4.peer_to_peer_over_pcie.certainty, Certainty::recalled);
  EXPECT_EQ(t4.memory_bandwidth_gb_per_s.value, 320);
  EXPECT_EQ(t4.streaming_multiprocessors.value, 40);
  EXPECT_EQ(t4.dense_peak_tflop_per_s[DataType::fp16]->value, 65);
  EXPECT_FALSE(t4.dense_peak_tflop_per_s[DataType::bf16].has_value());
  EXPECT_FALSE(t4.nvlink.has_value());
  EXPECT_EQ(t4.pcie.bandwidth_gb_per_s(), 15.75);
  EXPECT_EQ(t4.default_node, "pcie_server_t4");

  const Gpu rtx3090 = find_gpu("rtx3090");
  EXPECT_EQ(rtx3090.nvlink->attachment, NvlinkAttachment::bridge);
  EXPECT_EQ(rtx3090.nvlink->certainty, Certainty::recalled);
  EXPECT_EQ(rtx3090.dense_peak_tflop_per_s[DataType::bf16]->certainty, Certainty::derived);
  EXPECT_EQ(rtx3090.pcie.bandwidth_gb_per_s(), 31.5);
}

TEST(ShippedGpus, are_written_as_they_were_read) {
  const GpuCatalog catalog("");
  for (const Gpu& gpu : catalog.gpus()) {
    const auto json = gpu_fields().write(gpu);
    EXPECT_EQ(gpu_fields().write(core::from_json(json, gpu_fields(), gpu.id)), json) << gpu.id;
  }
}

TEST(FindGpu, takes_ids_aliases_and_the_names_of_nvidia_smi) {
  EXPECT_EQ(find_gpu("tesla_t4").id, "t4");
  EXPECT_EQ(find_gpu("3090").id, "rtx3090");
  EXPECT_EQ(find_gpu("RTX 3090").id, "rtx3090");
  EXPECT_EQ(find_gpu("NVIDIA GeForce RTX 3090").id, "rtx3090");
  EXPECT_EQ(find_gpu("Tesla V100-SXM2-16GB").id, "v100_sxm2_16gb");
}

TEST(FindGpu, a_name_that_fits_several_cards_is_refused_with_what_differs) {
  EXPECT_THAT(
      message("a100_sxm4"),
      AllOf(HasSubstr("the name \"a100_sxm4\" fits several cards: a100_sxm4_40gb (40 GiB, "),
            HasSubstr("a100_sxm4_80gb (80 GiB, "), HasSubstr("they differ in memory (name"),
            Not(HasSubstr("form factor"))));
  EXPECT_THAT(message("A100"), AllOf(HasSubstr("a100_pcie_80gb"),
                                     HasSubstr("they differ in memory, form factor (name")));
  EXPECT_THAT(message("a6000"),
              AllOf(HasSubstr("rtx_a6000"), HasSubstr("rtx_6000_ada"), HasSubstr("architecture")));
}

TEST(FindGpu, an_unknown_name_gets_the_nearest) {
  EXPECT_THAT(message("rtx3091"),
              AllOf(HasSubstr("no GPU is called \"rtx3091\"; did you mean \"rtx3090\"?"),
                    HasSubstr("`paceline list gpus`")));
  EXPECT_THAT(message("voodoo_banshee_2000_xxl"), Not(HasSubstr("did you mean")));
}

TEST(ListGpus, gives_id_name_and_path_without_the_file_of_ambiguous_names) {
  std::set<std::string> ids;
  for (const ProfileEntry& entry : list_gpus()) {
    EXPECT_EQ(entry.problem, "");
    EXPECT_TRUE(std::filesystem::exists(entry.path));
    ids.insert(entry.id);
  }
  EXPECT_TRUE(ids.contains("h200"));
  EXPECT_FALSE(ids.contains("ambiguous_names"));
}

}  // namespace
}  // namespace paceline::hardware_profiles
