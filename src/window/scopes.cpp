// How deep this thread is in scopes that change what the window does with its launches (W83).
// SPDX-License-Identifier: MIT
#include "window/scopes.hpp"

#include "salvo/window.hpp"

namespace salvo::window {

Scopes& scopes() noexcept {
  thread_local Scopes depth;
  return depth;
}

Pause::Pause() noexcept {
  ++scopes().paused;
}
Pause::~Pause() {
  --scopes().paused;
}
Batch::Batch() noexcept {
  ++scopes().batched;
}
Batch::~Batch() {
  --scopes().batched;
}

}  // namespace salvo::window
