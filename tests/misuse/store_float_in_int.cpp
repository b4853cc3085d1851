// An f32 value stored in an i32 span.
// SPDX-License-Identifier: MIT
// expect: salvo: stored value and element differ in type; use salvo::cast<T>(value)
#include <salvo/salvo.hpp>

int main() {
  auto wrong = salvo::kernel("wrong", [](salvo::Span<float> x, salvo::Span<int> y, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { y[i] = x[i]; });
  });
  return wrong.name().empty();
}
