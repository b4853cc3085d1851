// A double constant beside f32 values.
// SPDX-License-Identifier: MIT
// expect: salvo: this constant does not fit the value's type; cast it (2.0f, not 2.0)
#include <salvo/salvo.hpp>

int main() {
  auto wrong = salvo::kernel("wrong", [](salvo::Span<float> x, salvo::Span<int> y, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = x[i] * 2.0; });
  });
  return wrong.name().empty();
}
