// Pictures in memory: PNG and JPEG in, PNG out.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace salvo::tool {

/// Rows from the top, three bytes (red, green, blue) a pixel.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;
};

/// Longest side a picture may have.
inline constexpr int kMaxPictureSide = 16384;
/// Most pixels a picture may have; the pyramid needs about 130 bytes of memory for each.
inline constexpr std::int64_t kMaxPicturePixels = std::int64_t{1} << 26;

/// Throws InputError, naming the file, for whatever is not a PNG or JPEG picture of fair size.
Picture read_picture(const std::filesystem::path& file);
/// `name` is what errors call the bytes.
Picture decode_picture(std::span<const std::byte> bytes, const std::string& name);
void write_png(const std::filesystem::path& file, const Picture& picture);

}  // namespace salvo::tool
