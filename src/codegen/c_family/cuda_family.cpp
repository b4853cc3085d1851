// CUDA C++ itself.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/cuda_family.hpp"

#include "codegen/c_family/cuda_dialect.hpp"
#include "codegen/c_family/cuda_matrices.hpp"

namespace salvo::codegen::c_family {
namespace {

class CudaDialect final : public CudaFamily {
 public:
  const MatrixWords* matrices() const override { return &cuda_matrix_words(); }
  std::string read(const Place& place) const override {
    // A pointer in a table cannot be said to be restrict: what it points to is read by the path for
    // what nothing writes, and may be read ahead of stores.
    return place.constant ? fmt::format("__ldg(&{})", place.lvalue) : place.lvalue;
  }
};

}  // namespace

const Dialect& cuda_dialect() {
  // Never destroyed: other threads may print while the program exits.
  static const Dialect& dialect = *new CudaDialect;
  return dialect;
}

}  // namespace salvo::codegen::c_family
