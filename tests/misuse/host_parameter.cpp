// A kernel parameter of a host type.
// SPDX-License-Identifier: MIT
// expect: salvo: kernel parameters are Span<T>, values (Int, Float, ...) and Value<Record>
#include <salvo/salvo.hpp>

int main() {
  auto wrong = salvo::kernel("wrong", [](salvo::Span<float> x, int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = 1.0f; });
  });
  return wrong.name().empty();
}
