// A const structure of arrays for a span that the kernel may write.
// SPDX-License-Identifier: MIT
// expect: which the kernel may write, and the vector is const
#include <salvo/salvo.hpp>

struct Point {
  float x, y;
};
template <>
struct salvo::Record<Point> : salvo::Fields<&Point::x, &Point::y> {};

int main() {
  auto mirror = salvo::kernel("mirror", [](salvo::Span<Point> points) {
    salvo::for_each_thread(points,
                           [&](salvo::Int i) { points[i][&Point::x] = -points[i][&Point::x]; });
  });
  const salvo::SoaVector<Point> points(16);
  salvo::Device::best().launch(mirror, salvo::over(16), points);
}
