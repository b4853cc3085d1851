// The parts of a source as strings in a row, which could be swapped.
// SPDX-License-Identifier: MIT
// expect: no matching function for call to
#include <salvo/salvo.hpp>

int main() {
  salvo::Vector<float> x(16, 1.0f);
  salvo::run_source(salvo::Device::best(), "kernel void f(global float* x) {}", "OpenCL C", "f",
                    salvo::over(16), x);
}
