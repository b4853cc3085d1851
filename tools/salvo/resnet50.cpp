// Generates the shapes stage by stage, as table 1 of the paper describes them.
// SPDX-License-Identifier: MIT
#include "resnet50.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <numeric>

namespace salvo::tool {
namespace {

class Network {
 public:
  // A convolution without bias, followed by batch normalisation with scale and shift.
  void convolution(const std::string& prefix, const std::string& conv, const std::string& norm,
                   std::int64_t inputs, std::int64_t outputs, std::int64_t window) {
    tensors_.push_back({prefix + conv + ".weight", {outputs, inputs, window, window}});
    tensors_.push_back({prefix + norm + ".weight", {outputs}});
    tensors_.push_back({prefix + norm + ".bias", {outputs}});
  }

  void fully_connected(const std::string& name, std::int64_t inputs, std::int64_t outputs) {
    tensors_.push_back({name + ".weight", {outputs, inputs}});
    tensors_.push_back({name + ".bias", {outputs}});
  }

  std::vector<Tensor> take() && { return std::move(tensors_); }

 private:
  std::vector<Tensor> tensors_;
};

struct Stage {
  std::int64_t width;  // channels of the 3x3 convolution
  int blocks;
};
constexpr std::array<Stage, 4> kStages{{{64, 3}, {128, 4}, {256, 6}, {512, 3}}};
constexpr std::int64_t kExpansion = 4;  // a bottleneck block puts out four times its width
constexpr std::int64_t kStemChannels = 64;
constexpr std::int64_t kClasses = 1000;

}  // namespace

std::int64_t Tensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<Tensor> resnet50_parameters() {
  Network network;
  network.convolution("", "conv1", "bn1", 3, kStemChannels, 7);
  std::int64_t channels = kStemChannels;
  for (std::size_t stage = 0; stage < kStages.size(); ++stage) {
    const std::int64_t width = kStages[stage].width;
    for (int block = 0; block < kStages[stage].blocks; ++block) {
      const std::string prefix = fmt::format("layer{}.{}.", stage + 1, block);
      network.convolution(prefix, "conv1", "bn1", channels, width, 1);
      network.convolution(prefix, "conv2", "bn2", width, width, 3);
      network.convolution(prefix, "conv3", "bn3", width, width * kExpansion, 1);
      if (block == 0) {  // the shortcut changes the channel count
        network.convolution(prefix, "downsample.0", "downsample.1", channels, width * kExpansion,
                            1);
      }
      channels = width * kExpansion;
    }
  }
  network.fully_connected("fc", channels, kClasses);
  return std::move(network).take();
}

}  // namespace salvo::tool
