// Kernels and data that several suites build alike.
// SPDX-License-Identifier: MIT
#include "conformance/kernels.hpp"

#include <algorithm>
#include <map>

namespace salvo::conformance {
namespace {

std::vector<std::uint64_t> integers(int bits) {
  std::vector<std::uint64_t> values{0, 1, 2, 3, 7, 10, 100, 31, 32, 33, 63, 64, 12345};
  const std::uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  for (std::size_t i = 0, n = values.size(); i < n; ++i)
    values.push_back(~values[i]);  // -1, -2 ...
  for (int power = 7; power < bits; power += 8) {
    values.push_back((1ull << power) - 1);
    values.push_back(1ull << power);
  }
  values.push_back(0x123456789abcdef0ull);
  for (std::uint64_t& value : values) value &= mask;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<std::uint64_t> with_signs(std::vector<std::uint64_t> values, int sign_bit) {
  for (std::size_t i = 0, n = values.size(); i < n; ++i) {
    values.push_back(values[i] | 1ull << sign_bit);
  }
  return values;
}

std::uint64_t f32(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
std::uint64_t f64(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

std::vector<std::uint64_t> singles() {
  return with_signs({f32(0),
                     f32(1),
                     f32(0.5f),
                     f32(1.5f),
                     f32(2.5f),
                     f32(3),
                     f32(0.1f),
                     f32(0.49999997f),
                     f32(127.5f),
                     f32(65504),
                     f32(65520),
                     f32(8388609),
                     f32(16777218),
                     f32(2147483520),
                     f32(2147483648),
                     f32(4294967040),
                     f32(4294967296),
                     f32(9.2233715e18f),
                     f32(9.223372e18f),
                     f32(1.8446743e19f),
                     f32(1.8446744e19f),
                     f32(1e-20f),
                     f32(1e30f),
                     0x00000001,
                     0x007fffff,
                     0x00800000,
                     0x7f7fffff,
                     0x7f800000,
                     0x7fc00000,
                     0x3f800001},
                    31);
}

std::vector<std::uint64_t> doubles() {
  return with_signs({f64(0),
                     f64(1),
                     f64(0.5),
                     f64(1.5),
                     f64(2.5),
                     f64(3),
                     f64(0.1),
                     f64(0.49999999999999994),
                     f64(2147483647),
                     f64(2147483647.5),
                     f64(2147483648),
                     f64(4294967295),
                     f64(4294967296),
                     f64(9007199254740991),
                     f64(9223372036854774784.0),
                     f64(9223372036854775808.0),
                     f64(18446744073709549568.0),
                     f64(18446744073709551616.0),
                     f64(1e-200),
                     f64(1e200),
                     f64(3.4028235e38),
                     f64(3.5e38),
                     f64(1.4e-45),
                     f64(16777217),
                     f64(1.0000000596046448),
                     0x1,
                     0x000fffffffffffff,
                     0x0010000000000000,
                     0x7fefffffffffffff,
                     0x7ff0000000000000,
                     0x7ff8000000000000,
                     0x3ff0000000000001},
                    63);
}

std::vector<std::uint64_t> all_patterns(std::uint32_t count) {
  std::vector<std::uint64_t> values(count);
  for (std::uint32_t i = 0; i < count; ++i) values[i] = i;
  return values;
}

}  // namespace

const std::vector<std::uint64_t>& edge_bits(Scalar type) {
  static const std::map<Scalar, std::vector<std::uint64_t>> values{
      {Scalar::Bool, {0, 1}},
      {Scalar::I8, all_patterns(256)},
      {Scalar::U8, all_patterns(256)},
      {Scalar::I16, all_patterns(65536)},
      {Scalar::U16, all_patterns(65536)},
      {Scalar::F16, all_patterns(65536)},
      {Scalar::BF16, all_patterns(65536)},
      {Scalar::I32, integers(32)},
      {Scalar::U32, integers(32)},
      {Scalar::I64, integers(64)},
      {Scalar::U64, integers(64)},
      {Scalar::F32, singles()},
      {Scalar::F64, doubles()},
  };
  return values.at(type);
}

Value span_of_bits(Scalar type, const std::vector<std::uint64_t>& bits) {
  const std::size_t size = ir::size_of(type);
  Value value = zeros(bits.size(), size);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    std::memcpy(value.bytes.data() + i * size, &bits[i], size);
  }
  return value;
}

std::vector<std::vector<std::uint64_t>> combinations(const std::vector<Scalar>& types) {
  std::vector<std::vector<std::uint64_t>> columns(types.size());
  std::size_t count = 1;
  for (Scalar type : types) count *= edge_bits(type).size();
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    for (std::size_t k = 0; k < types.size(); ++k) {
      const auto& values = edge_bits(types[k]);
      columns[k].push_back(values[rest % values.size()]);
      rest /= values.size();
    }
  }
  return columns;
}

runtime::LaunchShape over(std::uint32_t count, std::uint32_t block) {
  return {{(count + block - 1) / block, 1, 1}, {block, 1, 1}, 0};
}

void guarded(Shapes& kernel, std::uint32_t count_parameter,
             const std::function<void(ValueId)>& body) {
  const ValueId i = kernel.position(Op::GlobalIdx, 0);
  const ValueId inside = kernel.op(Op::Lt, {i, kernel.param(count_parameter)});
  kernel.if_else(inside, [&] { body(i); });
}

Case elementwise(
    const std::string& name, const std::vector<Scalar>& inputs,
    const std::vector<std::vector<std::uint64_t>>& columns,
    const std::function<std::vector<Output>(Shapes&, const std::vector<ValueId>&)>& body) {
  Shapes kernel(name);
  Case result;
  std::vector<ir::MemoryId> memories;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    memories.push_back(kernel.span_parameter(std::string("x") + static_cast<char>('0' + k),
                                             ir::Element::scalar(inputs[k]), true));
    result.arguments.push_back(span_of_bits(inputs[k], columns[k]));
  }
  const auto count = static_cast<std::uint32_t>(columns.at(0).size());
  const std::uint32_t n = kernel.scalar_parameter("n", Scalar::I32);
  result.arguments.push_back(scalar(count));
  guarded(kernel, n, [&](ValueId i) {
    std::vector<ValueId> operands;
    for (ir::MemoryId memory : memories) operands.push_back(kernel.load(memory, i));
    for (const Output& output : body(kernel, operands)) {
      const Scalar type = kernel.kernel().nodes[output.value].type;
      const ir::MemoryId y = kernel.span_parameter(output.name, ir::Element::scalar(type), false);
      result.arguments.push_back(zeros(count, ir::size_of(type)));
      kernel.store(y, i, output.value);
    }
  });
  result.kernel = kernel.finish();
  result.shape = over(count);
  return result;
}

}  // namespace salvo::conformance
