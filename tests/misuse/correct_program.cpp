// The same calls without a mistake: the other programs fail for their own reason.
// SPDX-License-Identifier: MIT
// expect: success
#include <salvo/salvo.hpp>

int main() {
  auto scale = salvo::kernel("scale", [](salvo::Span<float> x, salvo::Float factor, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = x[i] * factor; });
  });
  salvo::Runtime own{salvo::RuntimeOptions{}};
  auto device = own.best();
  salvo::Vector<float> x(16, 1.0f);
  device.launch(scale, salvo::over(16), x, 2.0f, 16);
}
