// Copying to a view of const elements.
// SPDX-License-Identifier: MIT
// expect: salvo: this vector is const, or a view of const elements
#include <salvo/salvo.hpp>

int main() {
  salvo::Vector<float> x(16, 1.0f), y(16);
  const salvo::VectorView<const float> part = y;
  salvo::copy(x, 0, part, 0, 16);
}
