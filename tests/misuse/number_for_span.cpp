// A number where a vector is expected.
// SPDX-License-Identifier: MIT
// expect: salvo: this parameter is a Span<T>; pass a Vector<T> or view of the same T
#include "scale.hpp"

int main() {
  auto scale = scale_kernel();
  auto device = salvo::Device::best();
  device.launch(scale, salvo::over(16), 1.0f, 2.0f, 16);
}
