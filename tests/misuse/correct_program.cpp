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

  auto copy = salvo::kernel("copy", [](salvo::Span<const float> from, salvo::Span<float> to) {
    salvo::for_each_thread(to, [&](salvo::Int i) { to[i] = from[i]; });
  });
  const salvo::Vector<float> from(16, 1.0f);
  const salvo::VectorView<const float> part = from.view(0, 8);
  device.launch(copy, salvo::over(16), from, x);
  device.launch(copy, salvo::over(8), part, x.view(0, 8));
  salvo::copy(from, 0, x.view(8, 8), 0, 8);
  salvo::fill(device, x, 2.0f);
}
