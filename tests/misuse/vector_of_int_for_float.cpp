// A vector of another element type than the span's.
// SPDX-License-Identifier: MIT
// expect: salvo: this parameter is a Span<T>; pass a Vector<T> or view of the same T
#include "scale.hpp"

int main() {
  auto scale = scale_kernel();
  auto device = salvo::Device::best();
  salvo::Vector<int> x(16, 1);
  device.launch(scale, salvo::over(16), x, 2.0f, 16);
}
