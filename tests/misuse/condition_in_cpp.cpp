// A C++ `if` over what only the running kernel knows.
// SPDX-License-Identifier: MIT
// expect: salvo: not known in C++; use if_, while_, select
#include <salvo/salvo.hpp>

int main() {
  auto wrong = salvo::kernel("wrong", [](salvo::Span<float> x) {
    if (x[0] > 1.0f) x[0] = 1.0f;
  });
  return wrong.name().empty();
}
