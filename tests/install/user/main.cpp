// The smallest program with two kernels, as a user of an installed Salvo writes it.
// SPDX-License-Identifier: MIT
#include <iostream>
#include <salvo/salvo.hpp>

int main() {
  auto twice = salvo::kernel("twice", [](salvo::Span<float> x, salvo::Span<float> y, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { y[i] = x[i] * 2.0f; });
  });
  auto negate =
      salvo::kernel("negate", [](salvo::Span<float> x, salvo::Span<float> z, salvo::Int n) {
        auto i = salvo::global_thread_id();
        salvo::if_(i < n, [&] { z[i] = -x[i]; });
      });
  auto device = salvo::Device::best();
  salvo::Vector<float> x(1024, 1.0f), y(1024), z(1024);
  device.launch(twice, salvo::over(1024), x, y, 1024);
  device.launch(negate, salvo::over(1024), x, z, 1024);
  std::cout << y[0] << ' ' << z[0] << '\n';
}
