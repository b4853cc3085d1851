// A value that is assigned as if it were a variable.
// SPDX-License-Identifier: MIT
// expect: salvo: values do not change; use a Var<T>
#include <salvo/salvo.hpp>

int main() {
  auto wrong = salvo::kernel("wrong", [](salvo::Span<float> x) {
    salvo::Float sum = x[0];
    sum = sum + x[1];
    x[0] = sum;
  });
  return wrong.name().empty();
}
