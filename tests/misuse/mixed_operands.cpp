// A sum of an f32 and an i32 value.
// SPDX-License-Identifier: MIT
// expect: salvo: operands of different types; use salvo::cast<T>(value)
#include <salvo/salvo.hpp>

int main() {
  auto wrong = salvo::kernel("wrong", [](salvo::Span<float> x, salvo::Span<int> y, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = x[i] + y[i]; });
  });
  return wrong.name().empty();
}
