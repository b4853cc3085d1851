// y = a x + y, with the scale as an argument: a new value compiles nothing.
// SPDX-License-Identifier: MIT
#include <iostream>
#include <salvo/salvo.hpp>

int main() {
  auto saxpy =
      salvo::kernel("saxpy", [](salvo::Float a, salvo::Span<const float> x, salvo::Span<float> y) {
        salvo::for_each_thread(y, [&](salvo::Int i) { y[i] = a * x[i] + y[i]; });
      });

  constexpr int n = 65'536;
  const salvo::Vector<float> x(n, 3.0f);
  salvo::Vector<float> y(n, 1.0f);
  auto device = salvo::Device::best();
  for (float a : {0.5f, 2.0f, -1.0f}) device.launch(saxpy, salvo::over(n), a, x, y);

  // 1 + 0.5 * 3 + 2 * 3 - 1 * 3, each step exact.
  int wrong = 0;
  for (float value : y) wrong += value != 5.5f;
  std::cout << device.id() << ": " << n << " elements, " << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
}
