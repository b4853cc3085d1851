// Reads and writes pictures through stb, with every size checked before a pixel is decoded.
// SPDX-License-Identifier: MIT
#include "picture.hpp"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <memory>
#include <system_error>

#include "input_error.hpp"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS 16384
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

namespace salvo::tool {
namespace {

static_assert(STBI_MAX_DIMENSIONS == kMaxPictureSide);
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 28;
constexpr int kChannels = 3;

const stbi_uc* encoded(std::span<const std::byte> bytes) {
  return reinterpret_cast<const stbi_uc*>(bytes.data());
}

std::vector<std::byte> read_file(const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::exists(file, failure)) {
    throw InputError(fmt::format("{}: no such file", file.string()));
  }
  if (!std::filesystem::is_regular_file(file, failure)) {
    throw InputError(fmt::format("{}: not a file", file.string()));
  }
  const std::uintmax_t size = std::filesystem::file_size(file, failure);
  if (failure) throw InputError(fmt::format("{}: {}", file.string(), failure.message()));
  if (size > kMaxFileBytes) {
    throw InputError(fmt::format("{}: {} bytes are more than the {} allowed", file.string(), size,
                                 kMaxFileBytes));
  }
  std::vector<std::byte> bytes(size);
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!stream) throw InputError(fmt::format("{}: cannot be read", file.string()));
  return bytes;
}

void append(void* context, void* data, int size) {
  auto& out = *static_cast<std::string*>(context);
  out.append(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

// stb refuses zero-sized and over-long pictures without saying so, so the size is looked up in the
// PNG header first. Returns false if the bytes are no PNG.
bool png_size(std::span<const std::byte> bytes, std::uint32_t& width, std::uint32_t& height) {
  constexpr unsigned char kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  constexpr std::size_t kWidthAt = 16;
  if (bytes.size() < kWidthAt + 8) return false;
  for (std::size_t k = 0; k < sizeof kSignature; ++k) {
    if (std::to_integer<unsigned char>(bytes[k]) != kSignature[k]) return false;
  }
  const auto big_endian = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + k]);
    }
    return value;
  };
  width = big_endian(kWidthAt);
  height = big_endian(kWidthAt + 4);
  return true;
}

void check_size(std::int64_t width, std::int64_t height, const std::string& name) {
  if (width == 0 || height == 0) {
    throw InputError(
        fmt::format("{}: the picture is {} by {} pixels, so it has none", name, width, height));
  }
  if (width > kMaxPictureSide || height > kMaxPictureSide || width * height > kMaxPicturePixels) {
    throw InputError(fmt::format(
        "{}: the picture is {} by {} pixels; at most {} a side and {} in all are allowed", name,
        width, height, kMaxPictureSide, kMaxPicturePixels));
  }
}

}  // namespace

Picture decode_picture(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw InputError(fmt::format("{}: too long", name));
  }
  std::uint32_t png_width = 0;
  std::uint32_t png_height = 0;
  if (png_size(bytes, png_width, png_height)) check_size(png_width, png_height, name);

  const int size = static_cast<int>(bytes.size());
  int width = 0;
  int height = 0;
  int channels = 0;
  if (stbi_info_from_memory(encoded(bytes), size, &width, &height, &channels) == 0) {
    throw InputError(fmt::format("{}: not a PNG or JPEG picture", name));
  }
  check_size(width, height, name);

  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
      stbi_load_from_memory(encoded(bytes), size, &width, &height, &channels, kChannels),
      stbi_image_free);
  if (!pixels) {
    throw InputError(fmt::format("{}: the picture is damaged ({})", name, stbi_failure_reason()));
  }
  Picture picture{width, height, {}};
  const std::size_t count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  picture.rgb.assign(pixels.get(), pixels.get() + count * kChannels);
  return picture;
}

Picture read_picture(const std::filesystem::path& file) {
  return decode_picture(read_file(file), file.string());
}

void write_png(const std::filesystem::path& file, const Picture& picture) {
  std::string png;
  stbi_write_png_to_func(append, &png, picture.width, picture.height, kChannels, picture.rgb.data(),
                         picture.width * kChannels);
  std::ofstream stream(file, std::ios::binary);
  stream.write(png.data(), static_cast<std::streamsize>(png.size()));
  stream.close();
  if (png.empty() || !stream) throw InputError(fmt::format("{}: cannot be written", file.string()));
}

}  // namespace salvo::tool
