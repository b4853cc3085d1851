// Gaussian and Laplacian pyramid of a picture: down, and back up, a launch a channel and level.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "demo_kernels.hpp"
#include "demo_program.hpp"

namespace salvo::tool {
namespace {

constexpr int kChannels = 3;
constexpr int kMostLevels = 6;
constexpr int kSmallestSide = 8;

using Channels = std::array<Vector<float>, kChannels>;

struct Level {
  int width;
  int height;
  Channels gaussian;   // level 0 is the picture
  Channels laplacian;  // none at the coarsest level
  Channels rebuilt;    // the coarsest level's is its gaussian
  int count() const { return width * height; }
};

Channels channels(int count) {
  const auto size = static_cast<std::size_t>(count);
  return {Vector<float>(size), Vector<float>(size), Vector<float>(size)};
}

// Three planes of floats as a picture, each value moved by `offset`.
Picture picture_of(const Level& level, const Channels& planes, float offset) {
  Picture picture{level.width, level.height, {}};
  picture.rgb.resize(static_cast<std::size_t>(level.count()) * kChannels);
  for (std::size_t c = 0; c < kChannels; ++c) {
    const auto plane = planes[c].read();
    for (std::size_t i = 0; i < plane.size(); ++i) {
      const float value = std::clamp(plane[i] + offset, 0.0f, 255.0f);
      picture.rgb[i * kChannels + c] = static_cast<std::uint8_t>(value + 0.5f);
    }
  }
  return picture;
}

class Pyramid : public PyramidProgram {
 public:
  explicit Pyramid(const Picture& picture) : picture_(picture) {
    int width = picture.width;
    int height = picture.height;
    while (true) {
      levels_.push_back({width, height, channels(width * height), {}, {}});
      const bool small = std::min(width, height) / 2 < kSmallestSide;
      if (levels_.size() == kMostLevels || (small && levels_.size() > 1)) break;
      levels_.back().laplacian = channels(width * height);
      levels_.back().rebuilt = channels(width * height);
      width = (width + 1) / 2;
      height = (height + 1) / 2;
    }
  }

  std::string name() const override { return "pyramid"; }
  std::string description() const override {
    return fmt::format("Gaussian and Laplacian pyramid of a {} by {} picture, {} levels, and back",
                       picture_.width, picture_.height, levels_.size());
  }

  void reset() override {
    for (std::size_t c = 0; c < kChannels; ++c) {
      auto plane = levels_[0].gaussian[c].write();
      for (std::size_t i = 0; i < plane.size(); ++i) plane[i] = picture_.rgb[i * kChannels + c];
    }
  }

  int run(const Device& device) override {
    int launches = 0;
    const auto all_channels = [&](auto launch) {
      for (std::size_t c = 0; c < kChannels; ++c, ++launches) launch(c);
    };
    for (std::size_t l = 1; l < levels_.size(); ++l) {
      const Level& fine = levels_[l - 1];
      Level& coarse = levels_[l];
      all_channels([&](std::size_t c) {
        device.launch(reduce_, over(coarse.count()), fine.gaussian[c], coarse.gaussian[c],
                      fine.width, fine.height, coarse.width, coarse.count());
      });
    }
    for (std::size_t l = 1; l < levels_.size(); ++l) {
      Level& fine = levels_[l - 1];
      const Level& coarse = levels_[l];
      all_channels([&](std::size_t c) {
        device.launch(laplacian_, over(fine.count()), fine.gaussian[c], coarse.gaussian[c],
                      fine.laplacian[c], fine.width, coarse.width, coarse.height, fine.count());
      });
    }
    for (std::size_t l = levels_.size() - 1; l > 0; --l) {
      Level& fine = levels_[l - 1];
      const Level& coarse = levels_[l];
      const Channels& below = l + 1 == levels_.size() ? coarse.gaussian : coarse.rebuilt;
      all_channels([&](std::size_t c) {
        device.launch(collapse_, over(fine.count()), fine.laplacian[c], below[c], fine.rebuilt[c],
                      fine.width, coarse.width, coarse.height, fine.count());
      });
    }
    return launches;
  }

  std::vector<std::span<const std::byte>> outputs() override {
    std::vector<std::span<const std::byte>> all;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      for (std::size_t c = 0; c < kChannels; ++c) {
        if (l > 0) all.push_back(bytes_of(levels_[l].gaussian[c]));
        if (l + 1 == levels_.size()) continue;
        all.push_back(bytes_of(levels_[l].laplacian[c]));
        all.push_back(bytes_of(levels_[l].rebuilt[c]));
      }
    }
    return all;
  }

  std::string check() override {
    constexpr float kTolerance = 1e-3f;
    for (std::size_t c = 0; c < kChannels; ++c) {
      const auto start = levels_[0].gaussian[c].read();
      const auto rebuilt = levels_[0].rebuilt[c].read();
      for (std::size_t i = 0; i < start.size(); ++i) {
        if (!(std::abs(start[i] - rebuilt[i]) <= kTolerance)) {
          return fmt::format("channel {} pixel {} was rebuilt as {}, not {}", c, i, rebuilt[i],
                             start[i]);
        }
      }
      const auto reduced = levels_[1].gaussian[c].read();
      for (int i = 0; i < levels_[1].count(); ++i) {
        const double expected = reduced_on_host(start, i % levels_[1].width, i / levels_[1].width);
        if (!(std::abs(reduced[i] - expected) <= double{kTolerance})) {
          return fmt::format("channel {} pixel {} of level 1 is {}, not about {}", c, i, reduced[i],
                             expected);
        }
      }
    }
    return {};
  }

  std::vector<std::filesystem::path> write_pictures(const std::filesystem::path& folder) override {
    std::vector<std::filesystem::path> files;
    const auto write = [&](const std::string& name, const Picture& picture) {
      files.push_back(folder / name);
      write_png(files.back(), picture);
    };
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const Level& level = levels_[l];
      if (l > 0) write(fmt::format("gaussian_{}.png", l), picture_of(level, level.gaussian, 0.0f));
      if (l + 1 == levels_.size()) continue;
      write(fmt::format("laplacian_{}.png", l), picture_of(level, level.laplacian, 128.0f));
      write(fmt::format("rebuilt_{}.png", l), picture_of(level, level.rebuilt, 0.0f));
    }
    return files;
  }

 private:
  double reduced_on_host(std::span<const float> fine, int x, int y) const {
    constexpr std::array<double, 5> kTaps{0.0625, 0.25, 0.375, 0.25, 0.0625};
    double sum = 0;
    for (int down = -2; down <= 2; ++down) {
      for (int across = -2; across <= 2; ++across) {
        const int row = std::clamp(2 * y + down, 0, picture_.height - 1);
        const int column = std::clamp(2 * x + across, 0, picture_.width - 1);
        sum += double{fine[row * picture_.width + column]} * kTaps[down + 2] * kTaps[across + 2];
      }
    }
    return sum;
  }

  decltype(reduce_kernel()) reduce_ = reduce_kernel();
  decltype(laplacian_kernel()) laplacian_ = laplacian_kernel();
  decltype(collapse_kernel()) collapse_ = collapse_kernel();
  const Picture picture_;
  std::vector<Level> levels_;
};

}  // namespace

std::unique_ptr<PyramidProgram> make_pyramid(const Picture& picture) {
  return std::make_unique<Pyramid>(picture);
}

}  // namespace salvo::tool
