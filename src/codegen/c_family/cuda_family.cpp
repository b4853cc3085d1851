// CUDA C++ itself.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/cuda_family.hpp"

#include "codegen/c_family/cuda_dialect.hpp"

namespace salvo::codegen::c_family {

const Dialect& cuda_dialect() {
  static const CudaFamily dialect;
  return dialect;
}

}  // namespace salvo::codegen::c_family
