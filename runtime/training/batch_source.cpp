#include "runtime/training/batch_source.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/random.hpp"

namespace paceline::runtime {
namespace {

class SyntheticSource final : public BatchSource {
 public:
  SyntheticSource(const models::VitArchitecture& model, std::uint64_t seed)
      : image_values_(
            static_cast<std::size_t>(model.channels * model.image_size * model.image_size)) {
    core::Random random(seed);
    pixels_.resize(pool_images * image_values_);
    for (float& pixel : pixels_) pixel = static_cast<float>(random.normal());
    for (std::size_t i = 0; i < pool_images; ++i) {
      labels_.push_back(
          static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(model.classes))));
    }
  }

  void load(std::int64_t first, std::span<float> images, std::span<std::int32_t> labels) override {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::size_t index = (static_cast<std::size_t>(first) + i) % pool_images;
      labels[i] = labels_[index];
      std::copy_n(pixels_.begin() + static_cast<std::ptrdiff_t>(index * image_values_),
                  image_values_, images.begin() + static_cast<std::ptrdiff_t>(i * image_values_));
    }
  }
  [[nodiscard]] std::int64_t samples() const override { return pool_images; }

 private:
  static constexpr std::size_t pool_images = 64;
  std::size_t image_values_;
  std::vector<float> pixels_;
  std::vector<std::int32_t> labels_;
};

/// Which image stands at each place of an epoch.
class ShuffledOrder {
 public:
  ShuffledOrder(std::int64_t samples, std::uint64_t seed) : seed_(seed) {
    order_.resize(static_cast<std::size_t>(samples));
  }

  [[nodiscard]] std::size_t at(std::int64_t position) {
    const auto samples = static_cast<std::int64_t>(order_.size());
    const std::int64_t epoch = position / samples;
    if (epoch != epoch_) shuffle(epoch);
    return order_[static_cast<std::size_t>(position % samples)];
  }

 private:
  void shuffle(std::int64_t epoch) {
    epoch_ = epoch;
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    constexpr std::uint64_t epoch_stride = UINT64_C(0x9e3779b97f4a7c15);
    core::Random random(seed_ + static_cast<std::uint64_t>(epoch) * epoch_stride);
    for (std::size_t i = order_.size(); i > 1; --i) {  // Fisher and Yates
      std::swap(order_[i - 1], order_[static_cast<std::size_t>(random.below(i))]);
    }
  }

  std::uint64_t seed_;
  std::int64_t epoch_ = -1;
  std::vector<std::size_t> order_;
};

class ImageSource final : public BatchSource {
 public:
  ImageSource(const ImageFolder& folder, ImageFolder::Split split, std::uint64_t seed)
      : folder_(folder) {
    const bool train = split == ImageFolder::Split::train;
    const std::int64_t samples = train ? folder.train_samples : folder.test_samples;
    for (const auto& path : train ? folder.train_files : folder.test_files) {
      records_ += core::read_file(path, SIZE_MAX);
    }
    const auto values =
        static_cast<std::size_t>(folder.channels * folder.image_size * folder.image_size);
    record_bytes_ = static_cast<std::size_t>(folder.label_bytes) + values;
    if (records_.size() != record_bytes_ * static_cast<std::size_t>(samples)) {
      throw core::ConfigError(folder.name, "", "files changed while they were read");
    }
    check_labels();
    if (train) order_.emplace(samples, seed);
    samples_ = samples;
    for (std::size_t channel = 0; channel < folder.mean.size(); ++channel) {
      scale_.push_back(static_cast<float>(1.0 / (255.0 * folder.standard_deviation[channel])));
      shift_.push_back(
          static_cast<float>(-folder.mean[channel] / folder.standard_deviation[channel]));
    }
  }

  void load(std::int64_t first, std::span<float> images, std::span<std::int32_t> labels) override {
    const auto plane = static_cast<std::size_t>(folder_.image_size * folder_.image_size);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::int64_t position = first + static_cast<std::int64_t>(i);
      const std::size_t index =
          order_ ? order_->at(position) : static_cast<std::size_t>(position % samples_);
      const char* record = records_.data() + index * record_bytes_;
      labels[i] = static_cast<unsigned char>(record[folder_.label_offset]);
      const char* pixels = record + folder_.label_bytes;
      for (std::size_t channel = 0; channel < scale_.size(); ++channel) {
        float* const out = images.data() + (i * scale_.size() + channel) * plane;
        const char* const in = pixels + channel * plane;
        for (std::size_t p = 0; p < plane; ++p) {
          out[p] = static_cast<float>(static_cast<unsigned char>(in[p])) * scale_[channel] +
                   shift_[channel];
        }
      }
    }
  }
  [[nodiscard]] std::int64_t samples() const override { return samples_; }

 private:
  void check_labels() const {
    for (std::size_t at = 0; at < records_.size(); at += record_bytes_) {
      const auto label =
          static_cast<unsigned char>(records_[at + static_cast<std::size_t>(folder_.label_offset)]);
      if (label < folder_.classes) continue;
      throw core::ConfigError(folder_.name, "",
                              "image " + std::to_string(at / record_bytes_) + " has label " +
                                  std::to_string(label) + " (must be < " +
                                  std::to_string(folder_.classes) + ")");
    }
  }

  ImageFolder folder_;
  std::string records_;
  std::size_t record_bytes_ = 0;
  std::int64_t samples_ = 0;
  std::optional<ShuffledOrder> order_;
  std::vector<float> scale_, shift_;
};

struct SplitFile {
  std::string file;
  std::int64_t samples = 0;
};

struct DatasetFile {
  std::string name, format, source;
  std::int64_t classes = 0, image_size = 0, channels = 0;
  std::vector<double> mean, standard_deviation;
  SplitFile train, test;
};

const core::FieldTable<DatasetFile>& dataset_fields() {
  static const core::FieldTable<SplitFile> split = [] {
    core::FieldTable<SplitFile> fields;
    fields.required("file", &SplitFile::file, core::text(), "in the same folder");
    fields.required("samples", &SplitFile::samples, core::integer<std::int64_t>({.min = 1}),
                    "images in it");
    return fields;
  }();
  static const core::FieldTable<DatasetFile> table = [] {
    using D = DatasetFile;
    core::FieldTable<D> fields;
    const auto size = core::integer<std::int64_t>({.min = 1, .max = 65536});
    fields.document("dataset");
    fields.required("name", &D::name, core::text(), "for people");
    fields.required("classes", &D::classes, size, "labels are 0 … classes − 1");
    fields.required("image_size", &D::image_size, size, "pixels a side");
    fields.required("channels", &D::channels, size, "colour channels");
    fields.required("format", &D::format, core::text(), "cifar10_binary");
    fields.required("train", &D::train, core::record(split), "training split");
    fields.required("test", &D::test, core::record(split), "held-out split");
    fields.required("mean", &D::mean, core::list(core::number()), "of pixels in 0…1, by channel");
    fields.required("std", &D::standard_deviation, core::list(core::number(core::positive)),
                    "by channel");
    fields.defaulted("source", &D::source, core::text(), "where the images come from");
    fields.check([](const D& d, const core::Cursor& cursor) {
      const auto channels = static_cast<std::size_t>(d.channels);
      if (d.mean.size() != channels) cursor.at("mean").fault("must hold a value for each channel");
      if (d.standard_deviation.size() != channels) {
        cursor.at("std").fault("must hold a value for each channel");
      }
      if (d.format != "cifar10_binary") {
        cursor.at("format").fault("got \"" + d.format + "\" (must be \"cifar10_binary\")");
      }
    });
    return fields;
  }();
  return table;
}

ImageFolder described_folder(const std::filesystem::path& folder) {
  const DatasetFile file = core::from_file(folder / "dataset.json", dataset_fields());
  return {.name = file.name,
          .classes = file.classes,
          .image_size = file.image_size,
          .channels = file.channels,
          .label_bytes = 1,
          .label_offset = 0,
          .mean = file.mean,
          .standard_deviation = file.standard_deviation,
          .train_files = {folder / file.train.file},
          .test_files = {folder / file.test.file},
          .train_samples = file.train.samples,
          .test_samples = file.test.samples};
}

constexpr std::int64_t cifar_train_samples = 50000;
constexpr std::int64_t cifar_test_samples = 10000;

/// Channel statistics of CIFAR-10 and CIFAR-100 as published with common training recipes.
ImageFolder cifar10_folder(const std::filesystem::path& folder) {
  ImageFolder cifar{.name = "cifar10",
                    .classes = 10,
                    .image_size = 32,
                    .channels = 3,
                    .label_bytes = 1,
                    .label_offset = 0,
                    .mean = {0.4914, 0.4822, 0.4465},
                    .standard_deviation = {0.2470, 0.2435, 0.2616},
                    .train_files = {},
                    .test_files = {folder / "test_batch.bin"},
                    .train_samples = cifar_train_samples,
                    .test_samples = cifar_test_samples};
  for (int batch = 1; batch <= 5; ++batch) {
    cifar.train_files.push_back(folder / ("data_batch_" + std::to_string(batch) + ".bin"));
  }
  return cifar;
}

ImageFolder cifar100_folder(const std::filesystem::path& folder) {
  return {.name = "cifar100",
          .classes = 100,
          .image_size = 32,
          .channels = 3,
          .label_bytes = 2,  // coarse, then fine
          .label_offset = 1,
          .mean = {0.5071, 0.4865, 0.4409},
          .standard_deviation = {0.2673, 0.2564, 0.2762},
          .train_files = {folder / "train.bin"},
          .test_files = {folder / "test.bin"},
          .train_samples = cifar_train_samples,
          .test_samples = cifar_test_samples};
}

void check_split(const ImageFolder& folder, const std::vector<std::filesystem::path>& files,
                 std::int64_t samples, core::Faults& faults) {
  const std::int64_t record =
      folder.label_bytes + folder.channels * folder.image_size * folder.image_size;
  std::int64_t bytes = 0;
  std::string names;
  for (const auto& path : files) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error) {
      faults.add({path.string(), "", "cannot be read: " + error.message()});
      return;
    }
    bytes += static_cast<std::int64_t>(size);
    names += (names.empty() ? "" : ", ") + path.string();
  }
  if (bytes != samples * record) {
    faults.add({names, "",
                "got " + std::to_string(bytes) + " bytes (" + std::to_string(samples) +
                    " images need " + std::to_string(samples * record) + ")"});
  }
}

}  // namespace

std::unique_ptr<BatchSource> make_synthetic_source(const models::VitArchitecture& model,
                                                   std::uint64_t seed) {
  return std::make_unique<SyntheticSource>(model, seed);
}

ImageFolder read_image_folder(const std::filesystem::path& folder) {
  std::error_code error;
  ImageFolder read;
  if (std::filesystem::exists(folder / "dataset.json", error)) {
    read = described_folder(folder);
  } else if (std::filesystem::exists(folder / "data_batch_1.bin", error)) {
    read = cifar10_folder(folder);
  } else if (std::filesystem::exists(folder / "train.bin", error)) {
    read = cifar100_folder(folder);
  } else {
    throw core::ConfigError(folder.string(), "",
                            "holds no data set (dataset.json, or the binary files of CIFAR-10 or "
                            "CIFAR-100; scripts/make_digits.py makes one)");
  }
  core::Faults faults;
  check_split(read, read.train_files, read.train_samples, faults);
  check_split(read, read.test_files, read.test_samples, faults);
  faults.throw_if_any();
  return read;
}

void check_suits(const ImageFolder& folder, const models::VitArchitecture& model) {
  core::Faults faults;
  const auto must_equal = [&](const char* key, std::int64_t model_value, std::int64_t data_value) {
    if (model_value == data_value) return;
    faults.add({"experiment", std::string("/model/") + key,
                "got " + std::to_string(model_value) + " (the data set " + folder.name + " has " +
                    std::to_string(data_value) + ")"});
  };
  must_equal("image_size", model.image_size, folder.image_size);
  must_equal("channels", model.channels, folder.channels);
  if (model.classes < folder.classes) must_equal("classes", model.classes, folder.classes);
  faults.throw_if_any();
}

std::unique_ptr<BatchSource> make_image_source(const ImageFolder& folder, ImageFolder::Split split,
                                               std::uint64_t seed) {
  return std::make_unique<ImageSource>(folder, split, seed);
}

}  // namespace paceline::runtime
