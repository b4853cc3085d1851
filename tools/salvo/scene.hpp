// The demo's own picture: a small ray-traced scene, the same pixels on every machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "picture.hpp"

namespace salvo::tool {

/// Uses only operations that IEEE 754 rounds in one way, so that the result can be compared
/// exactly.
Picture make_scene(int width, int height);

inline constexpr int kSceneWidth = 512;
inline constexpr int kSceneHeight = 384;
/// The scene in that size as a PNG file, made by `salvo demo --make-picture` and kept in assets/.
std::span<const std::byte> scene_png();

}  // namespace salvo::tool
