// A vector of a record that was not registered.
// SPDX-License-Identifier: MIT
// expect: salvo: vectors hold scalars and records registered with salvo::Record
#include <salvo/salvo.hpp>

struct Particle {
  float x, y;
};

int main() {
  salvo::Vector<Particle> particles(16);
  return static_cast<int>(particles.size()) - 16;
}
