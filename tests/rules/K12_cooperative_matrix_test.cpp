// K12: cooperative matrices, by value on every device that has them, and refused where none are.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr CooperativeMatrixShape kUsual{16, 16, 16, ir::Scalar::F16, ir::Scalar::F32};

std::vector<Device> devices_with(const CooperativeMatrixShape& shape) {
  std::vector<Device> able;
  for (const Device& device : Device::all()) {
    const auto& known = device.properties().cooperative_matrices;
    if (std::ranges::find(known, shape) != known.end()) able.push_back(device);
  }
  return able;
}

template <class T>
constexpr CooperativeMatrixShape shape_of(std::uint32_t m, std::uint32_t n, std::uint32_t k,
                                          ir::Scalar accumulator) {
  return {m, n, k, std::is_same_v<T, half> ? ir::Scalar::F16 : ir::Scalar::BF16, accumulator};
}

/// c (m x n) = a (m x k) * b (k x n), one tile of c for each block of one warp.
template <class In, class Sum, std::uint32_t M, std::uint32_t N, std::uint32_t K>
auto product(MatrixLayout b_layout = MatrixLayout::row_major) {
  return kernel(
      "product", [b_layout](Span<const In> a, Span<const In> b, Span<Sum> c, Int n, Int k) {
        const Int row = block_idx_y() * static_cast<int>(M);
        const Int column = block_idx_x() * static_cast<int>(N);
        const bool columns = b_layout == MatrixLayout::column_major;
        Accumulator<Sum, M, N> sum(0.0f);
        for_(range(0, k / static_cast<int>(K)), [&](Int step) {
          const Int inner = step * static_cast<int>(K);
          auto left = MatrixA<In, M, K>::load(a, row * k + inner, k);
          auto right = columns ? MatrixB<In, K, N>::load(b, column * k + inner, k, b_layout)
                               : MatrixB<In, K, N>::load(b, inner * n + column, n, b_layout);
          sum = multiply_add(left, right, sum);
        });
        sum.store(c, row * n + column, n);
      });
}

template <class T>
std::vector<T> small_numbers(std::size_t count, int modulus) {
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(T(static_cast<float>(static_cast<int>(i) % modulus - modulus / 2)));
  }
  return values;
}

template <class T>
std::vector<T> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> spread(-1.0f, 1.0f);
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(T(spread(random)));
  return values;
}

/// An element of the product of row-major matrices, and the sum of its terms' sizes, in double.
template <class T>
std::pair<double, double> dot(const std::vector<T>& a, const std::vector<T>& b, int n, int k,
                              int row, int column) {
  double sum = 0, size = 0;
  for (int i = 0; i < k; ++i) {
    const double term = static_cast<double>(float(a[static_cast<std::size_t>(row * k + i)])) *
                        static_cast<double>(float(b[static_cast<std::size_t>(i * n + column)]));
    sum += term;
    size += std::abs(term);
  }
  return {sum, size};
}

/// Runs the product of m x k by k x n matrices on `device`.
template <class In, class Sum, std::uint32_t M, std::uint32_t N, std::uint32_t K>
std::vector<Sum> run_product(const Device& device, const std::vector<In>& a,
                             const std::vector<In>& b, int m, int n, int k) {
  const Vector<In> left(a), right(b);
  Vector<Sum> c(static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
  device.launch(product<In, Sum, M, N, K>(),
                grid(n / static_cast<int>(N), m / static_cast<int>(M))
                    .block(static_cast<int>(device.properties().warp_size)),
                left, right, c, n, k);
  const auto got = c.read();
  return {got.begin(), got.end()};
}

template <class In, class Sum, std::uint32_t M, std::uint32_t N, std::uint32_t K>
void check_exact(ir::Scalar accumulator) {
  constexpr int m = 32, n = 48, k = 64;
  const auto a = small_numbers<In>(m * k, 7), b = small_numbers<In>(k * n, 5);
  for (const Device& device : devices_with(shape_of<In>(M, N, K, accumulator))) {
    SCOPED_TRACE(device.id());
    const auto c = run_product<In, Sum, M, N, K>(device, a, b, m, n, k);
    for (int row = 0; row < m; ++row) {
      for (int column = 0; column < n; ++column) {
        ASSERT_EQ(static_cast<double>(float(c[static_cast<std::size_t>(row * n + column)])),
                  dot(a, b, n, k, row, column).first)
            << row << ", " << column;
      }
    }
  }
}

TEST(K12Matrices, K12_ProductsAreExactWhereEveryProductAndSumIs) {
  check_exact<half, float, 16, 16, 16>(ir::Scalar::F32);
  check_exact<half, half, 16, 16, 16>(ir::Scalar::F16);
  check_exact<bfloat16, float, 16, 16, 16>(ir::Scalar::F32);
  check_exact<half, float, 8, 8, 8>(ir::Scalar::F32);
  check_exact<half, half, 8, 8, 8>(ir::Scalar::F16);
  check_exact<bfloat16, float, 8, 8, 8>(ir::Scalar::F32);
  check_exact<half, float, 16, 8, 16>(ir::Scalar::F32);
  check_exact<half, float, 16, 8, 8>(ir::Scalar::F32);
  check_exact<half, float, 8, 8, 16>(ir::Scalar::F32);
}

// docs/exactness.md: k * 2^-22 of the sizes' sum with f32; a half is rounded too, and may be small.
template <class In, class Sum>
void check_bound(ir::Scalar accumulator) {
  constexpr int m = 32, n = 32, k = 128;
  const auto a = random_numbers<In>(m * k, 1), b = random_numbers<In>(k * n, 2);
  const bool is_half = accumulator == ir::Scalar::F16;
  for (const Device& device : devices_with(shape_of<In>(16, 16, 16, accumulator))) {
    SCOPED_TRACE(device.id());
    const auto c = run_product<In, Sum, 16, 16, 16>(device, a, b, m, n, k);
    for (int row = 0; row < m; ++row) {
      for (int column = 0; column < n; ++column) {
        const auto [sum, size] = dot(a, b, n, k, row, column);
        const double bound = is_half ? k * (std::ldexp(size, -10) + std::ldexp(1.0, -24))
                                     : k * std::ldexp(size, -22);
        ASSERT_NEAR(static_cast<double>(float(c[static_cast<std::size_t>(row * n + column)])), sum,
                    bound)
            << row << ", " << column;
      }
    }
  }
}

TEST(K12Matrices, K12_OtherProductsKeepTheStatedBound) {
  check_bound<half, float>(ir::Scalar::F32);
  check_bound<half, half>(ir::Scalar::F16);
  check_bound<bfloat16, float>(ir::Scalar::F32);
}

TEST(K12Matrices, K12_ColumnsOfBGiveTheSameBits) {
  constexpr int n = 32, k = 64;
  const auto a = random_numbers<half>(n * k, 3), b = random_numbers<half>(k * n, 4);
  std::vector<half> turned(b.size());
  for (std::size_t r = 0; r < k; ++r) {
    for (std::size_t c = 0; c < n; ++c) turned[c * k + r] = b[r * n + c];
  }
  for (const Device& device : devices_with(kUsual)) {
    const Vector<half> left(a), rows(b), columns(turned);
    Vector<float> plain(n * n), other(n * n);
    const auto dims = grid(2, 2).block(static_cast<int>(device.properties().warp_size));
    device.launch(product<half, float, 16, 16, 16>(), dims, left, rows, plain, n, k);
    device.launch(product<half, float, 16, 16, 16>(MatrixLayout::column_major), dims, left, columns,
                  other, n, k);
    EXPECT_TRUE(same_bits(values(plain), values(other))) << device.id();
  }
}

TEST(K12Matrices, K12_TheSameProductHasTheSameBitsEveryTimeHeldOrNot) {
  constexpr int n = 32, k = 64;
  const auto a = random_numbers<half>(n * k, 5), b = random_numbers<half>(k * n, 6);
  const auto doubled = scaled("doubled", 2.0f);
  for (const Device& device : devices_with(kUsual)) {
    std::vector<std::vector<float>> results;
    const Vector<half> left(a), right(b);
    const auto multiply = product<half, float, 16, 16, 16>();
    for (const bool held : {true, false}) {
      Vector<float> c(n * n), d(n * n), e(n * n);
      const auto dims = grid(2, 2).block(static_cast<int>(device.properties().warp_size));
      device.launch(multiply, dims, left, right, c, n, k);
      if (!held) device.synchronize();
      device.launch(multiply, dims, left, right, e, n, k);
      if (!held) device.synchronize();
      device.launch(doubled, over(n * n), c, d, n * n);
      results.push_back(values(d));
      EXPECT_TRUE(same_bits(values(c), values(e))) << device.id();
    }
    EXPECT_TRUE(same_bits(results[0], results[1])) << device.id();
  }
}

TEST(K12Matrices, K12_SeveralWarpsShareTilesAndEachTakesItsOwn) {
  // Four warps: each multiplies its 16 rows of a, staged in shared memory, by the same b.
  const auto warps = kernel("warps", [](Span<const half> a, Span<const half> b, Span<float> c) {
    Shared<half> rows(64 * 16);
    const Int threads = block_dim_x() * block_dim_y();
    const Int thread = thread_idx_y() * block_dim_x() + thread_idx_x();
    for_(range(thread, 64 * 16, threads), [&](Int i) { rows[i] = a[i]; });
    barrier();
    const Int warp = warp_idx();
    if_(warp < 4, [&] {
      auto left = MatrixA<half>::load(rows, warp * 256, 16);
      auto right = MatrixB<half>::load(b, 0, 16);
      auto sum = multiply_add(left, right, Accumulator<float>(1.0f));
      sum.store(c, warp * 256, 16);
    });
  });
  const auto a = small_numbers<half>(64 * 16, 9), b = small_numbers<half>(256, 7);
  for (const Device& device : devices_with(kUsual)) {
    const Vector<half> left(a), right(b);
    Vector<float> c(64 * 16);
    const int size = static_cast<int>(device.properties().warp_size);
    device.launch(warps, grid(1).block(size, 5), left, right, c);
    const auto got = values(c);
    for (int i = 0; i < 64 * 16; ++i) {
      ASSERT_EQ(got[static_cast<std::size_t>(i)],
                static_cast<float>(dot(a, b, 16, 16, i / 16, i % 16).first) + 1.0f)
          << device.id() << " element " << i;
    }
  }
}

TEST(K12Matrices, K12_ACopyIsACopy) {
  const auto copies = kernel("copies", [](Span<float> c) {
    Accumulator<float> one(1.0f);
    Accumulator<float> other = one;
    other.fill(2.0f);
    const Accumulator<float> kept = other;
    other = one;
    one.fill(5.0f);
    one.store(c, 0, 16);
    other.store(c, 256, 16);
    kept.store(c, 512, 16);
  });
  for (const Device& device : devices_with(kUsual)) {
    Vector<float> c(768);
    device.launch(copies, grid(1).block(static_cast<int>(device.properties().warp_size)), c);
    const auto got = values(c);
    EXPECT_EQ(std::make_tuple(got[0], got[255], got[256], got[511], got[512], got[767]),
              std::make_tuple(5.0f, 5.0f, 1.0f, 1.0f, 2.0f, 2.0f))
        << device.id();
  }
}

TEST(K12Matrices, K12_AssigningAResultMakesNoCopy) {
  const std::string ir = product<half, float, 16, 16, 16>().ir();
  EXPECT_THAT(ir, HasSubstr("matrix_multiply_add matrix0, matrix1, matrix2, matrix0"));
  EXPECT_THAT(ir, Not(HasSubstr("matrix_copy")));
}

// ---- What is refused -------------------------------------------------------------------------

template <class Call>
Error refused(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "accepted";
  return Error(Errc::io, "accepted");
}

TEST(K12Matrices, K12_ValuesThatDifferInAWarpAreRefusedWithTheirLine) {
  const std::uint32_t line = __LINE__ + 3;
  const Error error = refused([] {
    kernel("differs",
           [](Span<float> c) { Accumulator<float>(0.0f).store(c, thread_idx_x() * 16, 16); });
  });
  EXPECT_EQ(error.code(), Errc::invalid_kernel);
  EXPECT_EQ(error.kernel_location().line, line);
  EXPECT_THAT(error.kernel_location().file, HasSubstr("K12_cooperative_matrix_test.cpp"));
  EXPECT_THAT(error.message(),
              HasSubstr("matrix_store takes a value that differs between the threads of a warp"));
}

TEST(K12Matrices, K12_DivergentControlIsRefusedWithBothLines) {
  const std::uint32_t line = __LINE__ + 3;
  const Error error = refused([] {
    kernel("diverges", [](Span<float> c) {
      if_(thread_idx_x() < 7, [&] {
        Accumulator<float> sum(0.0f);
        sum.store(c, 0, 16);
      });
    });
  });
  EXPECT_EQ(error.code(), Errc::invalid_kernel);
  EXPECT_EQ(error.kernel_location().line, line + 1);
  EXPECT_THAT(error.message(), HasSubstr("matrix_fill is reached under a condition"));
  EXPECT_THAT(error.message(),
              HasSubstr("K12_cooperative_matrix_test.cpp:" + std::to_string(line) + ")"));
}

TEST(K12Matrices, K12_AMatrixKeepsItsLayout) {
  const Error error = refused([] {
    kernel("turned", [](Span<const half> a) {
      auto left = MatrixA<half>::load(a, 0, 16);
      auto other = MatrixA<half>::load(a, 256, 16, MatrixLayout::column_major);
      left = other;
    });
  });
  EXPECT_EQ(error.code(), Errc::invalid_kernel);
  EXPECT_THAT(error.message(), HasSubstr("which is loaded in the other layout too"));
}

TEST(K12Matrices, K12_APartOfAWarpIsRefusedAtTheLaunch) {
  FakeRuntime fake;
  const auto ones = kernel(
      "ones", [](Span<float> c) { Accumulator<float>(1.0f).store(c, warp_idx() * 256, 16); });
  Vector<float> c(512);
  const Error error = refused([&] { fake.device().launch(ones, grid(1).block(48), c); });
  EXPECT_EQ(error.code(), Errc::invalid_argument);
  EXPECT_EQ(error.message(),
            "block x is 48; cooperative matrices take a multiple of the 32 threads of a warp");
  EXPECT_THROW(fake.device().launch(ones, grid(1).block(16, 2), c), Error);
  fake.device().launch(ones, grid(1).block(64), c);
  EXPECT_EQ(values(c), std::vector<float>(512, 1.0f));
}

TEST(K12Matrices, K12_ADeviceWithoutThemOrThatShapeRefusesByName) {
  const auto multiply = product<bfloat16, float, 16, 16, 16>();
  const Vector<bfloat16> a(256), b(256);
  Vector<float> c(256);
  for (const bool some : {false, true}) {
    FakeRuntime fake{FakeOptions{.adjust = [some](DeviceProperties& d) {
      d.cooperative_matrices.clear();
      if (some) d.cooperative_matrices.push_back(kUsual);
    }}};
    const Error error =
        refused([&] { fake.device().launch(multiply, grid(1).block(32), a, b, c, 16, 16); });
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_EQ(error.message(),
              "Fake lacks cooperative matrices 16x16x16 (m x n x k) of bf16 with f32");
    EXPECT_EQ(error.kernel(), "product");
  }
}

TEST(K12Matrices, K12_EveryRealDeviceRunsOrRefusesByName) {
  const auto multiply = product<half, float, 16, 16, 16>();
  for (const Device& device : Device::all()) {
    const auto& known = device.properties().cooperative_matrices;
    if (std::ranges::find(known, kUsual) != known.end()) continue;
    const Vector<half> a(256), b(256);
    Vector<float> c(256);
    const Error error =
        refused([&] { device.launch(multiply, grid(1).block(32), a, b, c, 16, 16); });
    EXPECT_EQ(error.code(), Errc::unsupported) << device.id();
    EXPECT_THAT(error.message(), HasSubstr("cooperative matrices")) << device.id();
  }
}

TEST(K12Matrices, K12_SourceIsThereForTargetsThatHaveThemAndRefusedForOthers) {
  const auto multiply = product<half, float, 16, 16, 16>();
  EXPECT_THAT(multiply.source("CUDA/PTX"),
              HasSubstr("wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32"));
  EXPECT_THAT(multiply.source("CUDA/C"),
              HasSubstr("wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32"));
  for (const char* target : {"HIP", "OpenCL", "LevelZero", "WebGPU", "Native"}) {
    const Error error = refused([&] { std::ignore = multiply.source(target); });
    EXPECT_EQ(error.code(), Errc::unsupported) << target;
    EXPECT_THAT(error.message(), HasSubstr("cooperative matrices")) << target;
    EXPECT_EQ(error.kernel(), "product") << target;
  }
  EXPECT_EQ(
      refused([] { std::ignore = product<half, float, 8, 8, 8>().source("CUDA/PTX"); }).message(),
      "CUDA/PTX has no cooperative matrix accumulator 8x8 of f32");
}

TEST(K12Matrices, K12_TheyAreNeverMergedAndTheReasonSaysSo) {
  FakeRuntime fake;
  const Device device = fake.device();
  const auto a = small_numbers<half>(1024, 7), b = small_numbers<half>(1024, 5);
  const Vector<half> left(a), right(b);
  Vector<float> c(1024), d(1024), e(1024), other(1024);
  const auto multiply = product<half, float, 16, 16, 16>();
  const auto doubled = scaled("doubled", 2.0f);
  fake.window().keep_decisions(100);
  device.launch(doubled, grid(4).block(32), other, e, 0);
  device.launch(multiply, grid(2, 2).block(32), left, right, c, 32, 32);
  device.launch(doubled, over(1024), c, d, 1024);
  device.synchronize();
  EXPECT_EQ(fake.control->count(Driver::launch), 3U);
  for (const auto kind : {Decision::Kind::horizontal, Decision::Kind::epilogue}) {
    const auto decisions = fake.window().decisions();
    EXPECT_TRUE(std::ranges::any_of(decisions, [&](const Decision& one) {
      return one.kind == kind && one.reason == Reason::cooperative_matrix;
    }));
  }
  EXPECT_EQ(name(Reason::cooperative_matrix), "cooperative_matrix");
  EXPECT_EQ(values(d)[33], 2.0f * static_cast<float>(dot(a, b, 32, 32, 1, 1).first));
}

TEST(K12Matrices, K12_ExplicitFusionRefusesThemByName) {
  const auto halves = kernel("halves", [](Span<const float> x, Span<half> a) {
    const Int i = global_thread_id();
    a[i] = x[i];
  });
  const auto tile = kernel("tile", [](Span<const half> a, Span<float> c) {
    auto left = MatrixA<half>::load(a, 0, 16);
    multiply_add(left, MatrixB<half>(1.0f), Accumulator<float>(0.0f)).store(c, 0, 16);
  });
  const auto doubled = kernel("doubled", [](Span<const float> c, Span<float> d) {
    const Int i = global_thread_id();
    d[i] = c[i] * 2.0f;
  });
  EXPECT_THAT(refused([&] { std::ignore = fuse(halves, tile, through<1, 0>); }).message(),
              HasSubstr("tile reads the intermediate into a cooperative matrix"));
  EXPECT_THAT(refused([&] { std::ignore = fuse(tile, doubled, through<1, 0>); }).message(),
              HasSubstr("tile has a warp operation"));
}

TEST(K12Matrices, K12_AHeldProductIsOrderedByWhatItsMatricesTouch) {
  FakeRuntime fake;
  const Device device = fake.device();
  const Vector<half> ones(std::vector<half>(256, half(1.0f)));
  Vector<half> a(256);
  Vector<float> c(256);
  const auto to_half =
      kernel("to_half", [](Span<half> to, Float value) { to[global_thread_id()] = value; });
  const auto multiply = product<half, float, 16, 16, 16>();
  device.launch(to_half, grid(8).block(32), a, 2.0f);
  device.launch(multiply, grid(1, 1).block(32), a, ones, c, 16, 16);  // reads a
  device.launch(to_half, grid(8).block(32), a, 3.0f);                 // after it
  EXPECT_EQ(values(c), std::vector<float>(256, 32.0f));
  EXPECT_EQ(float(a.read()[0]), 3.0f);
}

}  // namespace
}  // namespace salvo::tests
