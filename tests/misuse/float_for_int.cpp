// A float where the kernel takes an integer.
// SPDX-License-Identifier: MIT
// expect: salvo: this parameter is an integer; pass an integer
#include <salvo/salvo.hpp>

int main() {
  auto scale = salvo::kernel("scale", [](salvo::Span<float> x, salvo::Float factor, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = x[i] * factor; });
  });
  auto device = salvo::Device::best();
  salvo::Vector<float> x(16, 1.0f);
  device.launch(scale, salvo::over(16), x, 2.0f, 16.0f);
}
