// Filling a const vector.
// SPDX-License-Identifier: MIT
// expect: salvo: this vector is const, or a view of const elements
#include <salvo/salvo.hpp>

int main() {
  const salvo::Vector<float> x(16, 1.0f);
  salvo::fill(salvo::Device::best(), x, 2.0f);
}
