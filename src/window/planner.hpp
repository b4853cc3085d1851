// Decides whether a legal fusion pays (W82).
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>

#include "salvo/properties.hpp"
#include "salvo/window.hpp"
#include "window/held_launch.hpp"

namespace salvo::window {

/// Reason::none if issuing `members` as one launch is expected to be no slower than one by one;
/// Reason::not_profitable otherwise. `./dev bench` shows both planners beside separate launches.
/// What it takes for granted of GPUs was measured on one, an H200, and holds for all until others
/// are.
Reason judge_fusion(const DeviceProperties& device,
                    std::span<const std::unique_ptr<HeldLaunch>> members);

}  // namespace salvo::window
