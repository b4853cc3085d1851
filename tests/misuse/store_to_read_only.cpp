// A store to a span of const elements.
// SPDX-License-Identifier: MIT
// expect: salvo: this span is read-only
#include <salvo/salvo.hpp>

int main() {
  auto wrong = salvo::kernel("wrong", [](salvo::Span<const float> x, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = 1.0f; });
  });
  return wrong.name().empty();
}
