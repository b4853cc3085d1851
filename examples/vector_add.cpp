// Vector addition: the smallest whole program.
// SPDX-License-Identifier: MIT
#include <iostream>
#include <salvo/salvo.hpp>

int main() {
  auto add = salvo::kernel("vector_add", [](salvo::Span<const float> a, salvo::Span<const float> b,
                                            salvo::Span<float> sum) {
    salvo::for_each_thread(sum, [&](salvo::Int i) { sum[i] = a[i] + b[i]; });
  });

  constexpr int n = 100'000;
  salvo::Vector<float> a(n), b(n), sum(n);
  auto first = a.write(), second = b.write();
  for (int i = 0; i < n; ++i) {
    first[i] = static_cast<float>(i);
    second[i] = 0.5f;
  }

  auto device = salvo::Device::best();
  device.launch(add, salvo::over(n), a, b, sum);

  auto result = sum.read();
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += result[i] != static_cast<float>(i) + 0.5f;
  std::cout << device.id() << ": " << n << " sums, " << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
}
