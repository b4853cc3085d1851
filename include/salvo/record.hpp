// Records in kernels: values, variables and references made of one scalar per leaf.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "salvo/value.hpp"

namespace salvo {

/// An immutable record: `value[&S::field]` is a field's value.
template <class S>
requires detail::is_record<S>
class Value<S> {
 public:
  using type = S;
  /// @cond internal
  explicit Value(std::vector<detail::ValueId> leaves) : leaves_(std::move(leaves)) {}
  /// @endcond
  Value(const Ref<S>& reference) : leaves_(reference.read()) {}
  Value(const Ref<const S>& reference) : leaves_(reference.read()) {}
  Value(const Var<S>& variable) : leaves_(variable.read()) {}
  Value(const Value&) = default;
  Value& operator=(const Value&) = delete;

  template <class M>
  Value<detail::computed_t<M>> operator[](M S::*member) const {
    const std::size_t first = detail::leaf_at<S>(detail::offset_of(member));
    if constexpr (detail::is_record<M>) {
      const auto begin = leaves_.begin() + static_cast<std::ptrdiff_t>(first);
      return Value<M>(std::vector<detail::ValueId>(
          begin, begin + static_cast<std::ptrdiff_t>(detail::leaf_count<M>())));
    } else {
      return Value<detail::computed_t<M>>(leaves_[first]);
    }
  }
  /// @cond internal
  const std::vector<detail::ValueId>& read() const { return leaves_; }
  /// @endcond

 private:
  std::vector<detail::ValueId> leaves_;
};

/// A reference to a record element: `span[i][&S::field]` can be read and assigned.
template <class S>
requires detail::is_record<std::remove_const_t<S>>
class Ref<S> {
  using Plain = std::remove_const_t<S>;
  template <class M>
  using Field = Ref<std::conditional_t<std::is_const_v<S>, const M, M>>;

 public:
  using type = Plain;
  /// @cond internal
  explicit Ref(detail::Place place) : place_(std::move(place)) {}
  /// @endcond
  Ref(const Ref&) = default;
  Ref& operator=(const Ref& other) { return assign(other.read()); }
  Ref& operator=(const Value<Plain>& value) { return assign(value.read()); }

  template <class M>
  Field<M> operator[](M Plain::*member) const {
    const std::uint32_t first = detail::leaf_at<Plain>(detail::offset_of(member));
    detail::Place part = place_;
    const auto begin = place_.loads.begin() + first;
    part.loads.assign(begin, begin + static_cast<std::ptrdiff_t>(detail::leaf_count<M>()));
    part.first_field += first;
    return Field<M>(std::move(part));
  }
  /// @cond internal
  std::vector<detail::ValueId> read() const {
    std::vector<detail::ValueId> leaves;
    for (std::size_t i = 0; i < place_.loads.size(); ++i) {
      leaves.push_back(detail::read_place(place_, i));
    }
    return leaves;
  }
  /// @endcond

 private:
  Ref& assign(const std::vector<detail::ValueId>& leaves) {
    static_assert(!std::is_const_v<S>, "salvo: this span is read-only (Span<const T>)");
    for (std::size_t i = 0; i < leaves.size(); ++i) detail::store_place(place_, i, leaves[i]);
    return *this;
  }
  detail::Place place_;
};

namespace detail {

/// One field of a record variable, readable and assignable in place.
template <class T>
class VarField : public Compound<VarField<T>> {
 public:
  using type = T;
  explicit VarField(std::uint32_t variable) : variable_(variable) {}
  VarField(const VarField&) = default;
  VarField& operator=(const VarField& other) { return assign(other.id()); }
  template <operand A>
  VarField& operator=(const A& value) {
    return assign(Value<T>(value).id());
  }
  ValueId id() const { return emit_var_get(variable_); }

 private:
  VarField& assign(ValueId value) {
    emit_var_set(variable_, value);
    return *this;
  }
  std::uint32_t variable_;
};
template <class T>
struct Traced<VarField<T>> {
  static constexpr bool value = true;
  using type = T;
};

}  // namespace detail

/// A mutable record of one thread.
template <class S>
requires detail::is_record<S>
class Var<S> {
 public:
  using type = S;
  Var(const Value<S>& initial) {
    for (const auto& leaf : detail::element_info<S>().leaves) {
      variables_.push_back(detail::make_variable(ir::compute_type(leaf.type)));
    }
    assign(initial.read());
  }
  Var(const Ref<S>& initial) : Var(Value<S>(initial)) {}
  Var(const Var& other) : Var(Value<S>(other)) {}
  Var& operator=(const Var& other) { return assign(other.read()); }
  Var& operator=(const Value<S>& value) { return assign(value.read()); }

  /// A scalar field of the record.
  template <class M>
  auto operator[](M S::*member) const {
    static_assert(detail::is_scalar<M>,
                  "salvo: reach nested records of a variable through a value");
    return detail::VarField<detail::computed_t<M>>(
        variables_[detail::leaf_at<S>(detail::offset_of(member))]);
  }
  /// @cond internal
  std::vector<detail::ValueId> read() const {
    std::vector<detail::ValueId> leaves;
    for (std::uint32_t variable : variables_) leaves.push_back(detail::emit_var_get(variable));
    return leaves;
  }
  /// @endcond

 private:
  Var& assign(const std::vector<detail::ValueId>& leaves) {
    for (std::size_t i = 0; i < leaves.size(); ++i) detail::emit_var_set(variables_[i], leaves[i]);
    return *this;
  }
  std::vector<std::uint32_t> variables_;
};

}  // namespace salvo
