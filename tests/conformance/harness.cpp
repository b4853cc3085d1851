// Runs a kernel on a device and on the interpreter, and compares what they leave in memory.
// SPDX-License-Identifier: MIT
#include "conformance/harness.hpp"

#include <bit>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "conformance/exceptions.hpp"
#include "ir/print.hpp"
#include "ir/verify.hpp"
#include "passes/access.hpp"

namespace salvo::conformance {
namespace {

using ir::Scalar;

/// Device buffers of one launch.
class Buffers {
 public:
  explicit Buffers(runtime::DeviceDriver& driver) : driver_(driver) {}
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    for (runtime::Buffer buffer : buffers_) driver_.release(buffer);
  }

  void add(const Value& value) {
    runtime::Buffer buffer;
    if (!value.bytes.empty()) {
      buffer = driver_.allocate(value.bytes.size());
      driver_.write(driver_.queue(), buffer, 0, value.bytes.data(), value.bytes.size());
    }
    buffers_.push_back(buffer);
  }
  runtime::Buffer operator[](std::size_t i) const { return buffers_[i]; }

 private:
  runtime::DeviceDriver& driver_;
  std::vector<runtime::Buffer> buffers_;
};

std::uint64_t load(const std::byte* at, Scalar type) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, ir::size_of(type));
  return bits;
}

bool is_nan(std::uint64_t bits, Scalar type) {
  switch (type) {
    case Scalar::F16: return (bits & 0x7fff) > 0x7c00;
    case Scalar::BF16: return (bits & 0x7fff) > 0x7f80;
    case Scalar::F32: return (bits & 0x7fffffff) > 0x7f800000;
    case Scalar::F64: return (bits & ~(1ull << 63)) > 0x7ffull << 52;
    default: return false;
  }
}

/// Steps from one float to the other along all floats of the type.
double steps(std::uint64_t a, std::uint64_t b, Scalar type) {
  const int sign = static_cast<int>(ir::size_of(type)) * 8 - 1;
  const auto ordered = [&](std::uint64_t bits) {
    const auto magnitude = static_cast<std::int64_t>(bits & ((1ull << sign) - 1));
    return bits >> sign & 1 ? -magnitude : magnitude;
  };
  // In integers: as doubles, neighbours among f64 would be the same number.
  const std::int64_t from = ordered(a);
  const std::int64_t to = ordered(b);
  const std::uint64_t count = from < to
                                  ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)
                                  : static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(to);
  return static_cast<double>(count);
}

bool same(std::uint64_t expected, std::uint64_t got, Scalar type, double ulps) {
  if (expected == got) return true;
  if (!ir::is_float(type)) return false;
  if (is_nan(expected, type) || is_nan(got, type)) return is_nan(expected, type) && is_nan(got, type);
  return ulps > 0 && steps(expected, got, type) <= ulps;
}

std::string text(std::uint64_t bits, Scalar type) {
  switch (type) {
    case Scalar::F32:
      return fmt::format("{} (0x{:08x})", std::bit_cast<float>(static_cast<std::uint32_t>(bits)), bits);
    case Scalar::F64: return fmt::format("{} (0x{:016x})", std::bit_cast<double>(bits), bits);
    default: return fmt::format("0x{:x}", bits);
  }
}

/// Everything that went wrong with the case on the device.
std::vector<std::string> failures(const Subject& subject, const Case& what) {
  try {
    const std::vector<Bytes> expected = run(oracle(), what);
    return differences(what, expected, run(*subject.driver, what));
  } catch (const Error& error) {
    return {fmt::format("{}\n{}", error.what(), error.log())};
  }
}

}  // namespace

/// "On/Arithmetic.Adds/OpenCL0_f32" on OpenCL0 is "Arithmetic.Adds_f32".
std::string test_name(const Subject& subject) {
  const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
  std::string suite = info->test_suite_name();
  const std::string test = info->name();
  suite.erase(0, suite.find('/') + 1);
  const std::size_t parameter = test.find('/');
  return suite + "." + test.substr(0, parameter) + test.substr(parameter + 1 + subject.label.size());
}

}  // namespace salvo::conformance
