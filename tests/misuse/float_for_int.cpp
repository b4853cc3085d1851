// A float where the kernel takes an integer.
// SPDX-License-Identifier: MIT
// expect: salvo: this parameter is an integer; pass an integer
#include "scale.hpp"

int main() {
  auto scale = scale_kernel();
  auto device = salvo::Device::best();
  salvo::Vector<float> x(16, 1.0f);
  device.launch(scale, salvo::over(16), x, 2.0f, 16.0f);
}
