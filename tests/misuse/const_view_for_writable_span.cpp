// A part of a const vector for a span that the kernel may write.
// SPDX-License-Identifier: MIT
// expect: which the kernel may write, and the vector is const
#include "scale.hpp"

int main() {
  auto scale = scale_kernel();
  auto device = salvo::Device::best();
  const salvo::Vector<float> x(16, 1.0f);
  salvo::Stream(device).launch(scale, salvo::over(8), x.view(0, 8), 2.0f, 8);
}
