// Runs a kernel on a device and on the interpreter, and compares what they leave in memory.
// SPDX-License-Identifier: MIT
#include "conformance/harness.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "conformance/exceptions.hpp"
#include "ir/print.hpp"
#include "ir/verify.hpp"
#include "passes/access.hpp"
#include "passes/cooperative.hpp"

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
    case Scalar::F16:
      return (bits & 0x7fff) > 0x7c00;
    case Scalar::BF16:
      return (bits & 0x7fff) > 0x7f80;
    case Scalar::F32:
      return (bits & 0x7fffffff) > 0x7f800000;
    case Scalar::F64:
      return (bits & ~(1ull << 63)) > 0x7ffull << 52;
    default:
      return false;
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
  const std::uint64_t count =
      from < to ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)
                : static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(to);
  return static_cast<double>(count);
}

bool same(std::uint64_t expected, std::uint64_t got, Scalar type, double ulps) {
  if (expected == got) return true;
  if (!ir::is_float(type)) return false;
  if (is_nan(expected, type) || is_nan(got, type))
    return is_nan(expected, type) && is_nan(got, type);
  return ulps > 0 && steps(expected, got, type) <= ulps;
}

std::string text(std::uint64_t bits, Scalar type) {
  switch (type) {
    case Scalar::F32:
      return fmt::format("{} (0x{:08x})", std::bit_cast<float>(static_cast<std::uint32_t>(bits)),
                         bits);
    case Scalar::F64:
      return fmt::format("{} (0x{:016x})", std::bit_cast<double>(bits), bits);
    default:
      return fmt::format("0x{:x}", bits);
  }
}

/// Calls `use` for each f32 in the arguments' buffers, with the buffer's place and its own.
template <typename Use>
void for_each_f32(const ir::Kernel& kernel, const std::vector<Bytes>& buffers, const Use& use) {
  std::size_t argument = 0;
  for (const ir::Parameter& parameter : kernel.parameters) {
    for (std::uint32_t slot = 0; slot < parameter.slots; ++slot, ++argument) {
      if (!parameter.is_span) continue;
      const ir::Element& element = kernel.memories[parameter.memory].element;
      for (const ir::Field& field : element.fields) {
        if (field.type != Scalar::F32) continue;
        for (std::size_t at = field.offset; at + 4 <= buffers[argument].size();
             at += element.size) {
          use(argument, at);
        }
      }
    }
  }
}

/// Replaces f32 denormals by zeros of their sign in the arguments' buffers.
void flush_denormals(const ir::Kernel& kernel, std::vector<Value>& arguments) {
  std::vector<Bytes> buffers;
  for (const Value& value : arguments) buffers.push_back(value.bytes);
  for_each_f32(kernel, buffers, [&](std::size_t argument, std::size_t at) {
    Bytes& bytes = arguments[argument].bytes;
    const auto bits = static_cast<std::uint32_t>(load(bytes.data() + at, Scalar::F32));
    const std::uint32_t sign = bits & 0x80000000;
    if ((bits & 0x7f800000) == 0) std::memcpy(bytes.data() + at, &sign, sizeof(sign));
  });
}

/// Takes what a device has that flushed a denormal on the way: it lost less than the smallest
/// normal number, and with it the sign of what is left.
void forgive_flushed(const ir::Kernel& kernel, std::vector<Bytes>& expected,
                     const std::vector<Bytes>& got) {
  for_each_f32(kernel, expected, [&](std::size_t argument, std::size_t at) {
    const auto number = [at](const Bytes& bytes) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(load(bytes.data() + at, Scalar::F32)));
    };
    Bytes& want = expected[argument];
    const Bytes& have = got[argument];
    if (number(want) != 0 && std::fabs(number(want) - number(have)) < 0x1p-126f) {
      std::memcpy(want.data() + at, have.data() + at, sizeof(float));
    }
  });
}

/// Everything that went wrong with the case on the device.
std::vector<std::string> failures(const Subject& subject, Case what) {
  try {
    const bool flushes = !subject.driver->properties().denormals_f32;
    if (flushes) flush_denormals(what.kernel, what.arguments);
    std::vector<Bytes> expected = run(oracle(subject.driver->properties()), what);
    const std::vector<Bytes> got = run(*subject.driver, what);
    if (flushes) forgive_flushed(what.kernel, expected, got);
    return differences(what, expected, got);
  } catch (const Error& error) {
    return {fmt::format("{}\n{}", error.what(), error.log())};
  }
}

}  // namespace

std::string test_name(const Subject& subject) {
  // "On/Arithmetic.Adds/OpenCL0_f32" on OpenCL0 -> "Arithmetic.Adds_f32"
  const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
  std::string suite = info->test_suite_name();
  const std::string test = info->name();
  suite.erase(0, suite.find('/') + 1);
  const std::size_t parameter = test.find('/');
  return suite + "." + test.substr(0, parameter) +
         test.substr(parameter + 1 + subject.label.size());
}

std::vector<Bytes> run(runtime::DeviceDriver& driver, const Case& what) {
  Buffers buffers(driver);
  for (const Value& value : what.arguments) buffers.add(value);
  std::vector<runtime::Argument> arguments;
  for (std::size_t i = 0; i < what.arguments.size(); ++i) {
    const Value& value = what.arguments[i];
    arguments.push_back({.buffer = buffers[value.shares.value_or(i)],
                         .byte_offset = value.offset,
                         .length = value.length,
                         .bits = value.bits});
  }
  const runtime::Program program = driver.translate(what.kernel, what.options);
  const auto executable = driver.build(what.kernel, program, {});
  driver.launch(driver.queue(), *executable, what.shape, arguments);
  driver.finish(driver.queue());
  std::vector<Bytes> results;
  for (std::size_t i = 0; i < what.arguments.size(); ++i) {
    results.emplace_back(what.arguments[i].bytes.size());
    if (buffers[i]) {
      driver.read(driver.queue(), results[i].data(), buffers[i], 0, results[i].size());
    }
  }
  return results;
}

std::vector<std::string> differences(const Case& what, const std::vector<Bytes>& expected,
                                     const std::vector<Bytes>& got) {
  std::vector<std::string> lines;
  std::size_t argument = 0;
  for (const ir::Parameter& parameter : what.kernel.parameters) {
    for (std::uint32_t slot = 0; slot < parameter.slots; ++slot, ++argument) {
      if (!parameter.is_span) continue;
      const ir::Element& element = what.kernel.memories[parameter.memory].element;
      for (std::size_t i = 0; (i + 1) * element.size <= expected[argument].size(); ++i) {
        for (const ir::Field& field : element.fields) {
          const std::size_t at = i * element.size + field.offset;
          const std::uint64_t want = load(expected[argument].data() + at, field.type);
          const std::uint64_t have = load(got[argument].data() + at, field.type);
          if (same(want, have, field.type, what.ulps)) continue;
          lines.push_back(fmt::format("{}[{}] {} is {}, not {}", parameter.name, i, field.name,
                                      text(have, field.type), text(want, field.type)));
          if (lines.size() == 10) return lines;
        }
      }
    }
  }
  return lines;
}

std::string lacking(const DeviceProperties& device, const ir::Kernel& kernel) {
  const passes::Summary needs = passes::summarize(kernel);
  if (needs.needs_fp64 && !device.fp64) return "f64";
  if (needs.needs_atomics_i64 && !device.atomics_i64) return "atomics on 64-bit integers";
  if (needs.needs_atomics_f32 && !device.atomics_f32) return "atomics on f32";
  if (needs.needs_atomics_f64 && !device.atomics_f64) return "atomics on f64";
  if (needs.uses_lanes && !device.warp_operations) return "warp operations";
  const auto matrices = passes::missing_matrices(kernel, device.cooperative_matrices);
  return matrices.empty() ? std::string() : matrices.front();
}

void check_case(const Subject& subject, const Case& what) {
  const std::vector<std::string> malformed = ir::verify(what.kernel);
  ASSERT_TRUE(malformed.empty()) << fmt::format("{}", fmt::join(malformed, "\n"));

  std::string lack = lacking(subject.driver->properties(), what.kernel);
  const std::uint32_t slots = subject.driver->properties().argument_slots;
  if (lack.empty() && slots != 0 && subject.driver->parameter_cost(what.kernel).slots > slots) {
    lack = fmt::format("argument slots beyond {}", slots);
  }
  if (!lack.empty()) {
    try {
      subject.driver->translate(what.kernel, what.options);
      FAIL() << "a kernel that needs " << lack << " was not refused";
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), Errc::unsupported) << error.what();
      ASSERT_EQ(error.kernel(), what.kernel.name) << error.what();
    }
    GTEST_SKIP() << "the device lacks " << lack;
  }

  const std::vector<std::string> wrong = failures(subject, what);
  const std::string_view reason = expected_failure(subject, test_name(subject));
  if (reason.empty()) {
    EXPECT_TRUE(wrong.empty()) << fmt::format("{}", fmt::join(wrong, "\n")) << "\n"
                               << ir::print(what.kernel) << "\n"
                               << subject.driver->translate(what.kernel, what.options).code;
  } else if (wrong.empty()) {
    FAIL() << "passes, though listed as failing: " << reason;
  } else {
    GTEST_SKIP() << "fails as expected: " << reason;
  }
}

}  // namespace salvo::conformance
