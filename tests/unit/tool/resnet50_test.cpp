// The ResNet-50 shapes against the published totals.
// SPDX-License-Identifier: MIT
#include "resnet50.hpp"

#include <gtest/gtest.h>

#include <set>

namespace salvo::tool {
namespace {

TEST(Resnet50, HasThePublishedNumberOfTensorsAndParameters) {
  const std::vector<Tensor> tensors = resnet50_parameters();
  std::int64_t total = 0;
  for (const Tensor& tensor : tensors) total += tensor.elements();
  EXPECT_EQ(tensors.size(), 161U);
  EXPECT_EQ(total, 25'557'032);
}

TEST(Resnet50, NamesEveryTensorOnceInTorchvisionsOrder) {
  const std::vector<Tensor> tensors = resnet50_parameters();
  std::set<std::string> names;
  for (const Tensor& tensor : tensors) names.insert(tensor.name);
  EXPECT_EQ(names.size(), tensors.size());
  EXPECT_EQ(tensors[0].name, "conv1.weight");
  EXPECT_EQ(tensors[2].name, "bn1.bias");
  EXPECT_EQ(tensors[3].name, "layer1.0.conv1.weight");
  EXPECT_EQ(tensors[12].name, "layer1.0.downsample.0.weight");
  EXPECT_EQ(tensors[159].name, "fc.weight");
  EXPECT_EQ(tensors[160].name, "fc.bias");
}

TEST(Resnet50, GivesTheShapesOfTheFirstAndLastBottleneck) {
  const std::vector<Tensor> tensors = resnet50_parameters();
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(tensors[0].shape, (Shape{64, 3, 7, 7}));
  EXPECT_EQ(tensors[3].shape, (Shape{64, 64, 1, 1}));
  EXPECT_EQ(tensors[6].shape, (Shape{64, 64, 3, 3}));
  EXPECT_EQ(tensors[9].shape, (Shape{256, 64, 1, 1}));
  EXPECT_EQ(tensors[12].shape, (Shape{256, 64, 1, 1}));
  EXPECT_EQ(tensors[156].shape, (Shape{2048, 512, 1, 1}));
  EXPECT_EQ(tensors[159].shape, (Shape{1000, 2048}));
}

}  // namespace
}  // namespace salvo::tool
