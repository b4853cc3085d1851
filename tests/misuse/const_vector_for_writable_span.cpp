// A const vector for a span that the kernel may write.
// SPDX-License-Identifier: MIT
// expect: which the kernel may write, and the vector is const
#include "scale.hpp"

int main() {
  auto scale = scale_kernel();
  auto device = salvo::Device::best();
  const salvo::Vector<float> x(16, 1.0f);
  device.launch(scale, salvo::over(16), x, 2.0f, 16);
}
