// Structures of arrays: vectors of records that keep each field in an array of its own (K13).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "salvo/device.hpp"
#include "salvo/vector.hpp"

namespace salvo {

/// A zero-initialised array of records whose scalar leaves, nested records flattened, lie in one
/// array each. A kernel written for Span<S> runs on it unchanged:
///
///   salvo::SoaVector<Particle> particles(1000);
///   device.launch(move_all, salvo::over(1000), particles, 0.1f);
///   salvo::VectorView<float> x = particles.column(&Particle::x);
///
/// Such a launch is never held (W7). A column is a view: it shares memory and state, so it can be
/// read, written, transferred and launched on by itself. Movable; copied by `clone()` alone.
/// Thread-safety is that of Vector, and so are errors: what makes one throws Errc::out_of_memory,
/// and what reads throws what launches met.
template <class S>
class SoaVector {
  static_assert(detail::is_record<S>,
                "salvo: a SoaVector holds records registered with salvo::Record");

 public:
  using value_type = S;
  using record = S;

  SoaVector() = default;
  explicit SoaVector(std::size_t count) : count_(count) {
    for (const detail::Leaf& leaf : leaves()) {
      const std::size_t bytes = ir::size_of(leaf.type);
      columns_.push_back(count ? detail::make_storage(detail::array_bytes(count, bytes), bytes)
                               : detail::StoragePtr());
    }
  }
  SoaVector(std::size_t count, const S& value) : SoaVector(count) {
    for (std::size_t i = 0; i < count; ++i) set(i, value);
  }
  explicit SoaVector(std::span<const S> values) : SoaVector(values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) set(i, values[i]);
  }
  SoaVector(SoaVector&& other) noexcept
      : columns_(std::move(other.columns_)), count_(std::exchange(other.count_, 0)) {}
  SoaVector& operator=(SoaVector&& other) noexcept {
    columns_ = std::move(other.columns_);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }
  SoaVector clone() const { return SoaVector(std::span<const S>(to_vector())); }

  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }

  /// A copy of one record; observes (W16). Throws Errc::invalid_argument past the end.
  S operator[](std::size_t index) const {
    check(index);
    S value{};
    auto* to = reinterpret_cast<std::byte*>(&value);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const detail::Leaf& leaf = leaves()[c];
      const std::size_t bytes = ir::size_of(leaf.type);
      std::memcpy(to + leaf.offset, detail::read_host(*columns_[c]) + index * bytes, bytes);
    }
    return value;
  }
  /// Writes one record on the host, where it is the newer one from here on (R3).
  void set(std::size_t index, const S& value) {
    check(index);
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const detail::Leaf& leaf = leaves()[c];
      const std::size_t bytes = ir::size_of(leaf.type);
      std::memcpy(detail::write_host(*columns_[c]) + index * bytes, from + leaf.offset, bytes);
    }
  }
  /// All records; observes.
  std::vector<S> to_vector() const {
    std::vector<S> values;
    values.reserve(count_);
    for (std::size_t i = 0; i < count_; ++i) values.push_back((*this)[i]);
    return values;
  }

  /// The array of a scalar field; to read, if the vector is const.
  template <class M>
  VectorView<M> column(M S::*member) {
    return column_at<M>(detail::offset_of(member));
  }
  template <class M>
  VectorView<const M> column(M S::*member) const {
    return column_at<M>(detail::offset_of(member));
  }
  /// The array of a scalar field of a nested record: `column(&Body::position, &Vec3::x)`.
  template <class M, class N>
  VectorView<N> column(M S::*member, N M::*inner) {
    return column_at<N>(detail::offset_of(member) + detail::offset_of(inner));
  }
  template <class M, class N>
  VectorView<const N> column(M S::*member, N M::*inner) const {
    return column_at<N>(detail::offset_of(member) + detail::offset_of(inner));
  }

  /// @cond internal
  void append_columns(std::vector<detail::CallArgument>& arguments) const {
    for (std::size_t c = 0; c < leaves().size(); ++c) {
      arguments.push_back({count_ ? columns_[c].get() : nullptr, 0, count_, 0, false});
    }
  }
  /// @endcond

 private:
  static const std::vector<detail::Leaf>& leaves() { return detail::element_info<S>().leaves; }
  void check(std::size_t index) const {
    if (index >= count_) detail::index_out_of_range(index, count_);
  }
  template <class M>
  VectorView<M> column_at(std::uint32_t offset) const {
    static_assert(detail::is_scalar<M>, "salvo: name a scalar field; of a nested record, by path");
    if (count_ == 0) return {};
    return VectorView<M>(columns_[detail::leaf_at<S>(offset)], 0, count_);
  }

  std::vector<detail::StoragePtr> columns_;
  std::size_t count_ = 0;
};

namespace detail {
template <class S>
constexpr bool is_soa<SoaVector<S>> = true;
}

}  // namespace salvo
