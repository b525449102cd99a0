#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/architecture.hpp"
#include "models/experiment.hpp"

namespace paceline::runtime {

/// Images and labels, normalised, in [images, channels, height, width].
class BatchSource {
 public:
  BatchSource() = default;
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;
  virtual ~BatchSource() = default;

  /// Images number `first`, `first` + 1, … of the endless stream; labels.size() of them.
  virtual void load(std::int64_t first, std::span<float> images,
                    std::span<std::int32_t> labels) = 0;
  /// Images in one epoch of the stream.
  [[nodiscard]] virtual std::int64_t samples() const = 0;
};

/// Random normal images and labels from a seed: a pool that the stream repeats.
[[nodiscard]] std::unique_ptr<BatchSource> make_synthetic_source(
    const models::VitArchitecture& model, std::uint64_t seed);

/// A folder with `dataset.json` and images in CIFAR's binary layout.
struct ImageFolder {
  enum class Split : std::uint8_t { train, test };

  std::string name;
  std::int64_t classes = 0;
  std::int64_t image_size = 0;
  std::int64_t channels = 0;
  std::int64_t label_bytes = 1;                  // before each image
  std::int64_t label_offset = 0;                 // of the byte that is used
  std::vector<double> mean, standard_deviation;  // by channel, of pixels in 0…1
  std::vector<std::filesystem::path> train_files, test_files;
  std::int64_t train_samples = 0;
  std::int64_t test_samples = 0;
};

/// Reads dataset.json; without one, recognises the files of CIFAR-10 and CIFAR-100 (binary
/// version). Throws `core::ConfigError` with every fault, sizes of the files included.
[[nodiscard]] ImageFolder read_image_folder(const std::filesystem::path& folder);

/// Throws `core::ConfigError` if the images do not suit the model.
void check_suits(const ImageFolder& folder, const models::VitArchitecture& model);

/// The training split, shuffled anew each epoch: every `samples()` consecutive images of the
/// stream, counted from its start, hold each image once. The test split is in file order.
[[nodiscard]] std::unique_ptr<BatchSource> make_image_source(const ImageFolder& folder,
                                                             ImageFolder::Split split,
                                                             std::uint64_t seed);

}  // namespace paceline::runtime
