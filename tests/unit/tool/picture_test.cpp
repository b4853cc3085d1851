// Reading and writing pictures: good ones come back, hostile ones are refused in one line.
// SPDX-License-Identifier: MIT
#include "picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#include "input_error.hpp"
#include "scene.hpp"

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

namespace salvo::tool {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

class PictureFile : public ::testing::Test {
 protected:
  PictureFile()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder_);
  }
  ~PictureFile() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream stream(folder_ / name, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    return folder_ / name;
  }

  std::filesystem::path folder_;
};

std::string refusal(const std::filesystem::path& file) {
  try {
    read_picture(file);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

Picture gradient(int width, int height) {
  Picture picture{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      picture.rgb.push_back(static_cast<std::uint8_t>(x * 255 / width));
      picture.rgb.push_back(static_cast<std::uint8_t>(y * 255 / height));
      picture.rgb.push_back(100);
    }
  }
  return picture;
}

void append(void* context, void* data, int size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  static_cast<Bytes*>(context)->insert(static_cast<Bytes*>(context)->end(), bytes, bytes + size);
}

// A PNG header whose IHDR chunk announces the given size.
Bytes png_header(unsigned char width_high, unsigned char width_low) {
  const std::array<unsigned char, 29> bytes{
      0x89, 'P', 'N', 'G',        '\r',      '\n', 0x1a, '\n', 0, 0, 0, 13, 'I', 'H', 'D',
      'R',  0,   0,   width_high, width_low, 0,    0,    0,    9, 8, 2, 0,  0,   0};
  Bytes out;
  for (const unsigned char byte : bytes) out.push_back(static_cast<std::byte>(byte));
  return out;
}

TEST_F(PictureFile, PngComesBackWithTheSamePixels) {
  const Picture picture = gradient(37, 11);
  write_png(folder_ / "g.png", picture);
  const Picture back = read_picture(folder_ / "g.png");
  EXPECT_EQ(back.width, 37);
  EXPECT_EQ(back.height, 11);
  EXPECT_EQ(back.rgb, picture.rgb);
}

TEST_F(PictureFile, JpegIsReadNearTheOriginal) {
  const Picture picture = gradient(64, 48);
  Bytes jpeg;
  ASSERT_NE(stbi_write_jpg_to_func(append, &jpeg, 64, 48, 3, picture.rgb.data(), 95), 0);
  const Picture back = read_picture(write("g.jpg", jpeg));
  ASSERT_EQ(back.rgb.size(), picture.rgb.size());
  for (std::size_t k = 0; k < back.rgb.size(); ++k) {
    ASSERT_LE(std::abs(int{back.rgb[k]} - int{picture.rgb[k]}), 12) << "byte " << k;
  }
}

TEST_F(PictureFile, MissingFileIsRefused) {
  EXPECT_THAT(refusal(folder_ / "none.png"), HasSubstr("none.png: no such file"));
}

TEST_F(PictureFile, FolderIsRefused) {
  EXPECT_THAT(refusal(folder_), HasSubstr("not a file"));
}

TEST_F(PictureFile, EmptyFileAndTextAreRefused) {
  EXPECT_THAT(refusal(write("empty.png", {})), HasSubstr("not a PNG or JPEG picture"));
  const std::string text = "This is no picture, whatever its name says.";
  EXPECT_THAT(refusal(write("text.png", std::as_bytes(std::span(text)))),
              HasSubstr("not a PNG or JPEG picture"));
}

TEST_F(PictureFile, ZeroSizedPictureIsRefused) {
  EXPECT_THAT(refusal(write("zero.png", png_header(0, 0))), HasSubstr("0 by 9 pixels"));
}

TEST_F(PictureFile, TooWidePictureIsRefusedBeforeDecoding) {
  EXPECT_THAT(refusal(write("wide.png", png_header(0x40, 0x01))), HasSubstr("16385 by 9 pixels"));
}

TEST_F(PictureFile, CutOffPictureIsRefused) {
  EXPECT_THAT(refusal(write("cut.png", scene_png().first(5000))), HasSubstr("damaged"));
}

TEST_F(PictureFile, UnwritablePlaceIsRefused) {
  EXPECT_THROW(write_png(folder_ / "no" / "such" / "folder.png", gradient(2, 2)), InputError);
}

TEST(Scene, ShippedPictureIsWhatTheCodeMakes) {
  const Picture shipped = decode_picture(scene_png(), "scene.png");
  const Picture made = make_scene(kSceneWidth, kSceneHeight);
  EXPECT_EQ(shipped.width, kSceneWidth);
  EXPECT_EQ(shipped.height, kSceneHeight);
  EXPECT_TRUE(shipped.rgb == made.rgb);
  EXPECT_LE(scene_png().size(), 200U * 1024U);
}

}  // namespace
}  // namespace salvo::tool
