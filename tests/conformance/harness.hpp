// Runs a kernel on a device and on the interpreter, and compares what they leave in memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/subjects.hpp"
#include "ir/kernel.hpp"
#include "runtime/backend.hpp"

namespace salvo::ir {

/// For messages of the test framework.
inline void PrintTo(Scalar type, std::ostream* out) {
  *out << name(type);
}

}  // namespace salvo::ir

namespace salvo::conformance {

using Bytes = std::vector<std::byte>;

/// An argument of a launch, with the memory it needs.
struct Value {
  bool is_span = false;
  Bytes bytes;                        // the whole buffer of a span; none: no buffer
  std::optional<std::size_t> shares;  // the argument whose buffer this one is a view of
  std::uint64_t offset = 0;           // bytes
  std::uint64_t length = 0;           // elements
  std::uint64_t bits = 0;             // scalar
};

template <typename T>
Bytes bytes_of(const std::vector<T>& elements) {
  Bytes bytes(elements.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

template <typename T>
Value span(const std::vector<T>& elements) {
  return {.is_span = true, .bytes = bytes_of(elements), .shares = {}, .length = elements.size()};
}
/// Elements `first` up to `first + count` of a buffer that holds all.
template <typename T>
Value view(const std::vector<T>& elements, std::size_t first, std::size_t count) {
  return {.is_span = true,
          .bytes = bytes_of(elements),
          .shares = {},
          .offset = first * sizeof(T),
          .length = count};
}
/// A view of an earlier argument's buffer.
inline Value view_of(std::size_t argument, std::uint64_t offset, std::uint64_t length) {
  return {.is_span = true, .bytes = {}, .shares = argument, .offset = offset, .length = length};
}
/// `count` elements of `size` bytes, all zero.
inline Value zeros(std::size_t count, std::size_t size) {
  return {.is_span = true, .bytes = Bytes(count * size), .shares = {}, .length = count};
}
template <typename T>
Value scalar(T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  Value result;
  std::memcpy(&result.bits, &value, sizeof(T));
  return result;
}

struct Case {
  ir::Kernel kernel;
  runtime::LaunchShape shape;
  std::vector<Value> arguments;
  runtime::TranslateOptions options;
  double ulps = 0;  // floats may differ by so many units in the last place
};

/// The buffers of a case's arguments after the launch; empty for scalars and shared buffers.
std::vector<Bytes> run(runtime::DeviceDriver& driver, const Case& what);

/// One line for each element in which two results differ, ten at most. Any NaN equals any NaN.
std::vector<std::string> differences(const Case& what, const std::vector<Bytes>& expected,
                                     const std::vector<Bytes>& got);

/// What the kernel needs and the device lacks; empty if nothing.
std::string lacking(const DeviceProperties& device, const ir::Kernel& kernel);

/// The running test as lists name it: "Suite.Name", or "Suite.Name_f32" where it is for a type.
std::string test_name(const Subject& subject);

/// Checks a case on a device against the interpreter. On a device that lacks what the kernel needs,
/// checks that the kernel is refused by name, and skips.
void check_case(const Subject& subject, const Case& what);

/// Suites derive from this with their parameter; `subject_of` finds the device in it.
inline const Subject& subject_of(const Subject& subject) {
  return subject;
}
template <typename... Others>
const Subject& subject_of(const std::tuple<Subject, Others...>& parameter) {
  return std::get<0>(parameter);
}

template <typename Parameter>
class Suite : public testing::TestWithParam<Parameter> {
 protected:
  const Subject& subject() const { return subject_of(this->GetParam()); }
  runtime::DeviceDriver& driver() const { return *subject().driver; }
  void check(const Case& what) const { check_case(subject(), what); }
};

using OnDevice = Suite<Subject>;
using OnType = Suite<std::tuple<Subject, ir::Scalar>>;

struct Label {
  std::string operator()(const testing::TestParamInfo<Subject>& info) const {
    return info.param.label;
  }
  std::string operator()(
      const testing::TestParamInfo<std::tuple<Subject, ir::Scalar>>& info) const {
    return std::get<0>(info.param).label + "_" + std::string(name(std::get<1>(info.param)));
  }
};

}  // namespace salvo::conformance

// A suite on every device, and on every device with each of some types.
#define SALVO_ON_DEVICES(suite)                                                          \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                                  \
  INSTANTIATE_TEST_SUITE_P(On, suite, testing::ValuesIn(salvo::conformance::subjects()), \
                           salvo::conformance::Label())
#define SALVO_ON_TYPES(suite, ...)                                                             \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                                        \
  INSTANTIATE_TEST_SUITE_P(On, suite,                                                          \
                           testing::Combine(testing::ValuesIn(salvo::conformance::subjects()), \
                                            testing::Values(__VA_ARGS__)),                     \
                           salvo::conformance::Label())
