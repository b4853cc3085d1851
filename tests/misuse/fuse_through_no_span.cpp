// What goes between two kernels that are fused is a vector that the first one writes.
// SPDX-License-Identifier: MIT
// expect: salvo: the producer does not write that parameter
#include "scale.hpp"

int main() {
  auto scale = scale_kernel();
  return salvo::fuse(scale, scale, salvo::through<1, 0>).name().empty();
}
