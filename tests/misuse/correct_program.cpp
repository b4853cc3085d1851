// The same calls without a mistake: the other programs fail for their own reason.
// SPDX-License-Identifier: MIT
// expect: success
#include "scale.hpp"

int main() {
  auto scale = scale_kernel();
  salvo::Runtime own{salvo::RuntimeOptions{}};
  auto device = own.best();
  salvo::Vector<float> x(16, 1.0f);
  device.launch(scale, salvo::over(16), x, 2.0f, 16);
}
