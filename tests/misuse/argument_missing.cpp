// A launch with an argument too few.
// SPDX-License-Identifier: MIT
// expect: salvo: wrong number of arguments for this kernel
#include <salvo/salvo.hpp>

int main() {
  auto scale = salvo::kernel("scale", [](salvo::Span<float> x, salvo::Float factor, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = x[i] * factor; });
  });
  auto device = salvo::Device::best();
  salvo::Vector<float> x(16, 1.0f);
  device.launch(scale, salvo::over(16), x, 2.0f);
}
