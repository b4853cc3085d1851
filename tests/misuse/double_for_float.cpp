// A double where the kernel takes a float.
// SPDX-License-Identifier: MIT
// expect: salvo: this parameter is a bool, float or double; pass exactly that (2.0f)
#include "scale.hpp"

int main() {
  auto scale = scale_kernel();
  auto device = salvo::Device::best();
  salvo::Vector<float> x(16, 1.0f);
  device.launch(scale, salvo::over(16), x, 2.0, 16);
}
