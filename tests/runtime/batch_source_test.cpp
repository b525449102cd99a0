#include "runtime/training/batch_source.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/error.hpp"

namespace paceline::runtime {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A folder with `train` + `test` images of 2 × 2 × 1, each with its number as label and pixels.
class ImageFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("paceline-images-" + std::to_string(::getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write_images(const std::string& name, int count) {
    std::ofstream file(folder_ / name, std::ios::binary);
    for (int i = 0; i < count; ++i) {
      for (int byte = 0; byte < 5; ++byte) file.put(static_cast<char>(i));
    }
  }
  void write_description(const std::string& text) {
    std::ofstream(folder_ / "dataset.json") << text;
  }
  void write_good_folder() {
    write_images("train.bin", 7);
    write_images("test.bin", 3);
    write_description(good_description);
  }

  static constexpr const char* good_description =
      R"({"schema": "paceline/dataset/1", "name": "seven",
    "classes": 7, "image_size": 2, "channels": 1, "format": "cifar10_binary",
    "train": {"file": "train.bin", "samples": 7}, "test": {"file": "test.bin", "samples": 3},
    "mean": [0.0], "std": [1.0]})";
  fs::path folder_;
};

TEST_F(ImageFolderTest, every_epoch_holds_each_image_once_whatever_the_batch) {
  write_good_folder();
  const auto source = make_image_source(read_image_folder(folder_), ImageFolder::Split::train, 1);
  std::vector<float> pixels(3 * 4);
  std::vector<std::int32_t> labels(3);
  std::vector<std::int32_t> stream;
  for (std::int64_t first = 0; first < 21; first += 3) {  // batches of 3 cross the epochs of 7
    source->load(first, pixels, labels);
    stream.insert(stream.end(), labels.begin(), labels.end());
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    const auto begin = stream.begin() + epoch * 7;
    EXPECT_EQ(std::set<std::int32_t>(begin, begin + 7).size(), 7U) << "epoch " << epoch;
  }
  EXPECT_FALSE(std::equal(stream.begin(), stream.begin() + 7, stream.begin() + 7))
      << "two epochs have the same order";
}

TEST_F(ImageFolderTest, pixels_are_scaled_to_one_and_normalised) {
  write_images("train.bin", 7);
  write_images("test.bin", 3);
  std::string text = good_description;
  text.replace(text.find("[0.0]"), 5, "[0.5]");
  text.replace(text.find("[1.0]"), 5, "[0.25]");
  write_description(text);
  const auto source = make_image_source(read_image_folder(folder_), ImageFolder::Split::test, 1);
  std::vector<float> pixels(3 * 4);
  std::vector<std::int32_t> labels(3);
  source->load(0, pixels, labels);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 1, 2}));  // file order
  // (pixel / 255 − 0.5) / 0.25 for pixels 0, 1 and 2
  EXPECT_FLOAT_EQ(pixels[0], -2.0F);
  EXPECT_NEAR(pixels[4], (1.0 / 255 - 0.5) / 0.25, 1e-6);
  EXPECT_NEAR(pixels[8], (2.0 / 255 - 0.5) / 0.25, 1e-6);
}

TEST_F(ImageFolderTest, the_same_seed_gives_the_same_order_on_every_rank) {
  write_good_folder();
  const ImageFolder folder = read_image_folder(folder_);
  const auto load = [&](std::uint64_t seed) {
    std::vector<float> pixels(7 * 4);
    std::vector<std::int32_t> labels(7);
    make_image_source(folder, ImageFolder::Split::train, seed)->load(0, pixels, labels);
    return labels;
  };
  EXPECT_EQ(load(5), load(5));
  EXPECT_NE(load(5), load(6));
}

std::string fault_of(const fs::path& folder) {
  try {
    const ImageFolder read = read_image_folder(folder);
    const auto source = make_image_source(read, ImageFolder::Split::train, 1);
    EXPECT_GT(source->samples(), 0);
  } catch (const core::ConfigError& error) {
    return error.what();
  }
  return "no fault";
}

TEST_F(ImageFolderTest, an_empty_folder_is_refused_with_what_it_should_hold) {
  EXPECT_THAT(fault_of(folder_), HasSubstr("holds no data set (dataset.json"));
}

TEST_F(ImageFolderTest, a_file_of_the_wrong_size_is_refused_with_both_sizes) {
  write_good_folder();
  write_images("train.bin", 6);
  EXPECT_THAT(fault_of(folder_), HasSubstr("got 30 bytes (7 images need 35)"));
}

TEST_F(ImageFolderTest, a_missing_file_is_named) {
  write_good_folder();
  fs::remove(folder_ / "test.bin");
  EXPECT_THAT(fault_of(folder_), HasSubstr("test.bin: cannot be read"));
}

TEST_F(ImageFolderTest, a_label_beyond_the_classes_is_refused_before_training) {
  write_good_folder();
  std::string text = good_description;
  text.replace(text.find("\"classes\": 7"), 12, "\"classes\": 5");
  write_description(text);
  EXPECT_THAT(fault_of(folder_), HasSubstr("image 5 has label 5 (must be < 5)"));
}

TEST_F(ImageFolderTest, all_faults_of_the_description_are_listed) {
  write_good_folder();
  write_description(R"({"schema": "paceline/dataset/1", "name": "x", "classes": 0, "image_size": 2,
    "channel": 1, "format": "cifar10_binary", "train": {"file": "train.bin", "samples": 7},
    "mean": [0.0], "std": [-1.0]})");
  const std::string text = fault_of(folder_);
  EXPECT_THAT(text, HasSubstr("#/classes: got 0 (must be >= 1)"));
  EXPECT_THAT(text, HasSubstr("#/channel: unknown key, did you mean \"channels\"?"));
  EXPECT_THAT(text, HasSubstr("\"test\" is missing"));
  EXPECT_THAT(text, HasSubstr("#/std/0: got -1.0 (must be > 0"));
}

TEST(CheckSuits, images_that_do_not_suit_the_model_are_refused_key_by_key) {
  const ImageFolder folder{.name = "digits",
                           .classes = 10,
                           .image_size = 32,
                           .channels = 3,
                           .mean = {},
                           .standard_deviation = {},
                           .train_files = {},
                           .test_files = {}};
  models::VitArchitecture model{.id = "m", .image_size = 224, .classes = 5};
  try {
    check_suits(folder, model);
    FAIL() << "accepted";
  } catch (const core::ConfigError& error) {
    EXPECT_EQ(error.faults().size(), 2U);
    EXPECT_THAT(error.what(), HasSubstr("/model/image_size: got 224 (the data set digits has 32)"));
    EXPECT_THAT(error.what(), HasSubstr("/model/classes: got 5 (the data set digits has 10)"));
  }
}

}  // namespace
}  // namespace paceline::runtime
