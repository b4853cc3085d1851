// The parameter tensors of ResNet-50, from the published architecture.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace salvo::tool {

struct Tensor {
  std::string name;                 // as torchvision names it: "layer1.0.conv1.weight"
  std::vector<std::int64_t> shape;  // outermost dimension first
  std::int64_t elements() const;
};

/// He, Zhang, Ren, Sun: "Deep Residual Learning for Image Recognition", CVPR 2016,
/// arXiv:1512.03385, table 1, column "50-layer", with 1,000 classes. 161 tensors, 25,557,032
/// parameters, in the order in which torchvision's resnet50 lists them.
std::vector<Tensor> resnet50_parameters();

}  // namespace salvo::tool
