// A number where a vector is expected.
// SPDX-License-Identifier: MIT
// expect: salvo: this parameter is a Span<T>; pass a Vector<T> or view of the same T
#include <salvo/salvo.hpp>

int main() {
  auto scale = salvo::kernel("scale", [](salvo::Span<float> x, salvo::Float factor, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = x[i] * factor; });
  });
  auto device = salvo::Device::best();
  device.launch(scale, salvo::over(16), 1.0f, 2.0f, 16);
}
