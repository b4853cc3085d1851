// A launch with an argument too many.
// SPDX-License-Identifier: MIT
// expect: salvo: wrong number of arguments for this kernel
#include "scale.hpp"

int main() {
  auto scale = scale_kernel();
  auto device = salvo::Device::best();
  salvo::Vector<float> x(16, 1.0f);
  device.launch(scale, salvo::over(16), x, 2.0f, 16, 16);
}
