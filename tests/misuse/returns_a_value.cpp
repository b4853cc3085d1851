// A kernel that returns something.
// SPDX-License-Identifier: MIT
// expect: salvo: a kernel returns nothing
#include <salvo/salvo.hpp>

int main() {
  salvo::kernel("wrong", [](salvo::Span<float> x) {
    x[salvo::global_thread_id()] = 1.0f;
    return 0;
  });
}
