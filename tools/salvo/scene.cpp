// Traces mirror-like balls on a checkered floor, with + - * / and sqrt alone.
// SPDX-License-Identifier: MIT
#include "scene.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

namespace salvo::tool {
namespace {

struct Vec {
  double x = 0, y = 0, z = 0;
};
Vec operator+(Vec a, Vec b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
Vec operator-(Vec a, Vec b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
Vec operator*(Vec a, double s) {
  return {a.x * s, a.y * s, a.z * s};
}
double dot(Vec a, Vec b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
Vec unit(Vec a) {
  return a * (1.0 / std::sqrt(dot(a, a)));
}

struct Ball {
  Vec centre;
  double radius;
  Vec colour;
  double mirror;
};

constexpr std::array<Ball, 6> kBalls{{
    {{-1.9, 0.9, 4.6}, 0.9, {0.86, 0.16, 0.10}, 0.25},
    {{0.2, 1.25, 5.6}, 1.25, {0.92, 0.90, 0.86}, 0.55},
    {{2.2, 0.7, 4.3}, 0.7, {0.08, 0.34, 0.72}, 0.25},
    {{0.75, 0.32, 3.1}, 0.32, {0.95, 0.68, 0.08}, 0.15},
    {{-0.65, 0.24, 2.8}, 0.24, {0.10, 0.55, 0.25}, 0.15},
    {{-2.9, 0.45, 6.9}, 0.45, {0.50, 0.14, 0.50}, 0.20},
}};
constexpr Vec kToLight{-0.48, 0.72, -0.50};
constexpr double kNear = 1e-4;
constexpr int kBounces = 3;
constexpr int kSamplesPerSide = 3;

struct Hit {
  double distance;
  Vec point;
  Vec normal;
  Vec colour;
  double mirror;
};

std::optional<double> distance_to(const Ball& ball, Vec from, Vec direction) {
  const Vec offset = from - ball.centre;
  const double half = dot(offset, direction);
  const double root = half * half - (dot(offset, offset) - ball.radius * ball.radius);
  if (root <= 0) return std::nullopt;
  const double nearer = -half - std::sqrt(root);
  return nearer > kNear ? std::optional(nearer) : std::nullopt;
}

std::optional<Hit> floor_hit(Vec from, Vec direction) {
  if (direction.y >= 0) return std::nullopt;
  const double distance = -from.y / direction.y;
  if (distance <= kNear) return std::nullopt;
  const Vec point = from + direction * distance;
  const auto square =
      static_cast<long>(std::floor(point.x)) + static_cast<long>(std::floor(point.z));
  const Vec colour = square % 2 == 0 ? Vec{0.82, 0.80, 0.74} : Vec{0.20, 0.22, 0.24};
  return Hit{distance, point, {0, 1, 0}, colour, 0.12};
}

std::optional<Hit> nearest(Vec from, Vec direction) {
  std::optional<Hit> hit = floor_hit(from, direction);
  for (const Ball& ball : kBalls) {
    const std::optional<double> distance = distance_to(ball, from, direction);
    if (!distance || (hit && *distance >= hit->distance)) continue;
    const Vec point = from + direction * *distance;
    hit = Hit{*distance, point, (point - ball.centre) * (1.0 / ball.radius), ball.colour,
              ball.mirror};
  }
  return hit;
}

bool in_shadow(Vec point, Vec to_light) {
  return std::any_of(kBalls.begin(), kBalls.end(), [&](const Ball& ball) {
    return distance_to(ball, point, to_light).has_value();
  });
}

Vec sky(Vec direction) {
  const double height = std::max(direction.y, 0.0);
  return Vec{0.84, 0.88, 0.92} * (1.0 - height) + Vec{0.18, 0.38, 0.70} * height;
}

Vec trace(Vec from, Vec direction, int bounces) {
  const std::optional<Hit> hit = nearest(from, direction);
  if (!hit) return sky(direction);
  const Vec to_light = unit(kToLight);
  const double facing = std::max(dot(hit->normal, to_light), 0.0);
  const double light = in_shadow(hit->point + hit->normal * kNear, to_light) ? 0.0 : facing;
  Vec colour = hit->colour * (0.22 + 0.78 * light);
  if (bounces > 0) {
    const Vec mirrored = direction - hit->normal * (2.0 * dot(direction, hit->normal));
    const Vec seen = trace(hit->point + hit->normal * kNear, mirrored, bounces - 1);
    colour = colour * (1.0 - hit->mirror) + seen * hit->mirror;
  }
  // Distance fades into the sky's horizon.
  const double fade = hit->distance / (hit->distance + 40.0);
  return colour * (1.0 - fade) + Vec{0.84, 0.88, 0.92} * fade;
}

std::uint8_t level(double light) {
  // The square root stands for the display's gamma: unlike pow it is rounded alike everywhere.
  return static_cast<std::uint8_t>(std::sqrt(std::clamp(light, 0.0, 1.0)) * 255.0 + 0.5);
}

}  // namespace

Picture make_scene(int width, int height) {
  Picture picture{width, height, {}};
  picture.rgb.reserve(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  constexpr Vec kEye{0.0, 1.5, -2.2};
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      Vec sum;
      for (int sample = 0; sample < kSamplesPerSide * kSamplesPerSide; ++sample) {
        const double right = column + (sample % kSamplesPerSide + 0.5) / kSamplesPerSide;
        const double down = row + (sample / kSamplesPerSide + 0.5) / kSamplesPerSide;
        const Vec towards{(right - width / 2.0) / height, (height * 0.42 - down) / height, 1.05};
        sum = sum + trace(kEye, unit(towards), kBounces);
      }
      const Vec mean = sum * (1.0 / (kSamplesPerSide * kSamplesPerSide));
      for (const double light : {mean.x, mean.y, mean.z}) picture.rgb.push_back(level(light));
    }
  }
  return picture;
}

}  // namespace salvo::tool
