// Cooperative matrices: small matrices that a warp holds together and multiplies at once (K12).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

#include "salvo/math.hpp"
#include "salvo/position.hpp"
#include "salvo/span.hpp"

namespace salvo {

using ir::MatrixLayout;
using ir::MatrixUse;

/// A Rows x Columns matrix of T that the threads of a warp hold together, on the device's matrix
/// units: tensor cores on CUDA, VK_KHR_cooperative_matrix on Vulkan, simdgroup matrices on Metal.
///
///   using namespace salvo;
///   Accumulator<float> sum(0.0f);                                   // 16x16 zeros
///   for_(range(0, k / 16), [&](Int step) {
///     auto left = MatrixA<half>::load(a, row * k + step * 16, k);   // 16x16 of a, k to a row
///     auto right = MatrixB<half>::load(b, step * 16 * n + column, n);
///     sum = multiply_add(left, right, sum);
///   });
///   sum.store(c, row * n + column, n);
///
/// Types: half or bfloat16 for uses `a` and `b`, float or (with half) half for `accumulator`.
/// Shapes: a device lists the multiply-adds it has in DeviceProperties::cooperative_matrices. 16x16
/// by 16x16 is there on all that have any but Metal's bfloat16 before Metal 3.1; a launch with
/// another is refused at the call, by name, as is every launch where the list is empty.
///
/// Scope: every operation is one of the whole warp. All its threads reach it together and pass the
/// same offset, stride and value; tracing refuses what it cannot prove of that, naming file and
/// line. Values from block_idx and parameters are such; the number of a warp in its block is
/// warp_idx(). The block's x is a multiple of the warp's size; a launch with another is refused.
///
/// Memory: load and store touch Rows x Columns elements of a span or a shared array of T, from
/// `offset` on (in elements), consecutive rows (columns in column_major) `stride` elements apart.
/// Accumulators alone are stored. A matrix of use a or b stays in the layout it was loaded in: to
/// assign one of the other layout to it is an error when the kernel is traced.
/// Each of these starts at a multiple of its size, or of 32 bytes if it is longer. Which thread
/// touches which element is not said: other accesses to them are apart by a barrier. No element may
/// be out of bounds; the interpreter checks this, the alignment and races.
///
/// Arithmetic: products are exact and are added in an order that is the device's own;
/// docs/exactness.md states what that leaves of exactness.
///
/// A value like any other: copies are independent. Kernels that use one are never merged with
/// others (Reason::cooperative_matrix).
template <class T, std::uint32_t Rows, std::uint32_t Columns, MatrixUse Use>
class CooperativeMatrix {
  static constexpr bool kHalf = std::is_same_v<T, half>;
  static_assert(Use == MatrixUse::accumulator ? kHalf || std::is_same_v<T, float>
                                              : kHalf || std::is_same_v<T, bfloat16>,
                "salvo: matrices a and b are of half or bfloat16, accumulators of float or half");
  static_assert(Rows > 0 && Columns > 0, "salvo: a cooperative matrix is not empty");

 public:
  using element = T;

  /// All elements are `value`, rounded to T.
  explicit CooperativeMatrix(Value<float> value,
                             std::source_location where = std::source_location::current())
      : CooperativeMatrix() {
    detail::emit_matrix_fill(id_, value.id(), where);
  }

  static CooperativeMatrix load(const Span<T>& from, detail::Index offset, detail::Index stride,
                                MatrixLayout layout = MatrixLayout::row_major) {
    return loaded(from.memory(), offset, stride, layout);
  }
  static CooperativeMatrix load(const Span<const T>& from, detail::Index offset,
                                detail::Index stride,
                                MatrixLayout layout = MatrixLayout::row_major) {
    return loaded(from.memory(), offset, stride, layout);
  }
  static CooperativeMatrix load(const Shared<T>& from, detail::Index offset, detail::Index stride,
                                MatrixLayout layout = MatrixLayout::row_major) {
    return loaded(from.memory(), offset, stride, layout);
  }

  void store(const Span<T>& to, detail::Index offset, detail::Index stride,
             MatrixLayout layout = MatrixLayout::row_major) const {
    stored(to.memory(), offset, stride, layout);
  }
  void store(const Shared<T>& to, detail::Index offset, detail::Index stride,
             MatrixLayout layout = MatrixLayout::row_major) const {
    stored(to.memory(), offset, stride, layout);
  }

  void fill(Value<float> value, std::source_location where = std::source_location::current()) {
    detail::emit_matrix_fill(id_, value.id(), where);
  }

  CooperativeMatrix(const CooperativeMatrix& other) : CooperativeMatrix() { *this = other; }
  CooperativeMatrix(CooperativeMatrix&& other) noexcept
      : id_(std::exchange(other.id_, detail::kNoMatrix)) {}
  CooperativeMatrix& operator=(const CooperativeMatrix& other) {
    if (this != &other) detail::emit_matrix_copy(id_, other.id_);
    return *this;
  }
  CooperativeMatrix& operator=(CooperativeMatrix&& other) {  // NOLINT(*noexcept*): tracing throws
    if (this != &other) detail::move_matrix(id_, std::exchange(other.id_, detail::kNoMatrix));
    return *this;
  }
  ~CooperativeMatrix() = default;

  /// @cond internal
  /// Its number in the kernel.
  std::uint32_t id() const { return id_; }
  /// @endcond

 private:
  template <class A, class C, std::uint32_t M, std::uint32_t N, std::uint32_t K>
  friend CooperativeMatrix<C, M, N, MatrixUse::accumulator> multiply_add(
      const CooperativeMatrix<A, M, K, MatrixUse::a>& a,
      const CooperativeMatrix<A, K, N, MatrixUse::b>& b,
      const CooperativeMatrix<C, M, N, MatrixUse::accumulator>& c, std::source_location where);

  CooperativeMatrix() : id_(detail::make_matrix(detail::scalar_of<T>(), Rows, Columns, Use)) {}

  static CooperativeMatrix loaded(std::uint32_t memory, const detail::Index& offset,
                                  const detail::Index& stride, MatrixLayout layout) {
    CooperativeMatrix made;
    made.access(ir::Op::MatrixLoad, memory, offset, stride, layout);
    return made;
  }
  void stored(std::uint32_t memory, const detail::Index& offset, const detail::Index& stride,
              MatrixLayout layout) const {
    static_assert(Use == MatrixUse::accumulator, "salvo: only accumulators are stored");
    access(ir::Op::MatrixStore, memory, offset, stride, layout);
  }
  void access(ir::Op op, std::uint32_t memory, const detail::Index& offset,
              const detail::Index& stride, MatrixLayout layout) const {
    detail::emit_matrix_access(op, id_, memory, offset.id, stride.id, layout, offset.where);
  }

  std::uint32_t id_;
};

template <class T, std::uint32_t Rows = 16, std::uint32_t Columns = 16>
using MatrixA = CooperativeMatrix<T, Rows, Columns, MatrixUse::a>;
template <class T, std::uint32_t Rows = 16, std::uint32_t Columns = 16>
using MatrixB = CooperativeMatrix<T, Rows, Columns, MatrixUse::b>;
template <class T = float, std::uint32_t Rows = 16, std::uint32_t Columns = 16>
using Accumulator = CooperativeMatrix<T, Rows, Columns, MatrixUse::accumulator>;

/// a (M x K) * b (K x N) + c (M x N), of c's type.
template <class A, class C, std::uint32_t M, std::uint32_t N, std::uint32_t K>
CooperativeMatrix<C, M, N, MatrixUse::accumulator> multiply_add(
    const CooperativeMatrix<A, M, K, MatrixUse::a>& a,
    const CooperativeMatrix<A, K, N, MatrixUse::b>& b,
    const CooperativeMatrix<C, M, N, MatrixUse::accumulator>& c,
    std::source_location where = std::source_location::current()) {
  static_assert(std::is_same_v<C, float> || std::is_same_v<A, half>,
                "salvo: products of bfloat16 are added to float");
  CooperativeMatrix<C, M, N, MatrixUse::accumulator> result;
  detail::emit_matrix_multiply_add(result.id(), a.id(), b.id(), c.id(), where);
  return result;
}

/// The number of the thread's warp in its block: equal in all threads of a warp, as tracing knows.
inline Int warp_idx(std::source_location where = std::source_location::current()) {
  const Int thread =
      thread_idx_x() + block_dim_x() * (thread_idx_y() + block_dim_y() * thread_idx_z());
  return salvo::shuffle(thread / warp_size(), Int(0), where);
}

}  // namespace salvo
