// How deep this thread is in scopes that change what the window does with its launches (W83).
// SPDX-License-Identifier: MIT
#pragma once

namespace salvo::window {

/// Thread-local depths behind window::Pause and window::Batch.
struct Scopes {
  unsigned paused = 0;
  unsigned batched = 0;
};
Scopes& scopes() noexcept;

}  // namespace salvo::window
