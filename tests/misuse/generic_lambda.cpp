// A kernel whose parameters have no types.
// SPDX-License-Identifier: MIT
// expect: salvo: a kernel's parameters have types (Span<float>, Int, ...), not auto
#include <salvo/salvo.hpp>

int main() {
  salvo::kernel("wrong", [](auto x, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = 1.0f; });
  });
}
