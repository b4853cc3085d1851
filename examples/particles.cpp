// Particles as records: the kernel sees the host's struct, field by field.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <iostream>
#include <salvo/salvo.hpp>

struct Vec2 {
  float x, y;
};
struct Particle {
  Vec2 position, velocity;
  std::int32_t bounces;
};
template <>
struct salvo::Record<Vec2> : salvo::Fields<&Vec2::x, &Vec2::y> {};
template <>
struct salvo::Record<Particle>
    : salvo::Fields<&Particle::position, &Particle::velocity, &Particle::bounces> {};

int main() {
  // Falls for a time step, and bounces off the floor at half the speed.
  auto fall =
      salvo::kernel("fall", [](salvo::Span<Particle> all, salvo::Float dt, salvo::Float gravity) {
        salvo::for_each_thread(all, [&](salvo::Int i) {
          auto position = all[i][&Particle::position];
          auto velocity = all[i][&Particle::velocity];
          salvo::Var<float> vy = velocity[&Vec2::y] - gravity * dt;
          salvo::Var<float> y = position[&Vec2::y] + vy * dt;
          salvo::if_(y < 0.0f, [&] {
            y = -y;
            vy *= -0.5f;
            ++all[i][&Particle::bounces];
          });
          position[&Vec2::x] += velocity[&Vec2::x] * dt;
          position[&Vec2::y] = y;
          velocity[&Vec2::y] = vy;
        });
      });

  constexpr int n = 1000;
  constexpr float dt = 0.25f, gravity = 8.0f;  // powers of two: every step is exact
  salvo::Vector<Particle> particles(n);
  auto host = particles.write();
  for (int i = 0; i < n; ++i) {
    host[i] = {{static_cast<float>(i), static_cast<float>(i % 10)}, {0.5f, 0.0f}, 0};
  }

  auto expected = particles.clone();
  for (Particle& p : expected.write()) {
    for (int step = 0; step < 4; ++step) {
      p.velocity.y -= gravity * dt;
      p.position.x += p.velocity.x * dt;
      p.position.y += p.velocity.y * dt;
      if (p.position.y < 0) {
        p.position.y = -p.position.y;
        p.velocity.y *= -0.5f;
        ++p.bounces;
      }
    }
  }

  auto device = salvo::Device::best();
  for (int step = 0; step < 4; ++step) device.launch(fall, salvo::over(n), particles, dt, gravity);

  auto result = particles.read();
  auto wanted = expected.read();
  int wrong = 0, bounces = 0;
  for (int i = 0; i < n; ++i) {
    wrong += result[i].position.x != wanted[i].position.x ||
             result[i].position.y != wanted[i].position.y ||
             result[i].velocity.y != wanted[i].velocity.y || result[i].bounces != wanted[i].bounces;
    bounces += result[i].bounces;
  }
  std::cout << device.id() << ": " << n << " particles, " << bounces << " bounces, " << wrong
            << " wrong\n";
  return wrong == 0 && bounces > 0 ? 0 : 1;
}
