// What the stand-in driver's handles point to.
// SPDX-License-Identifier: MIT
#pragma once

#include <level_zero/ze_api.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drivers/level_zero/engine.hpp"
#include "drivers/level_zero/state.hpp"
#include "drivers/level_zero/translation.hpp"

namespace salvo::test::level_zero {

/// Fewer than a clock's: they wrap once a minute.
inline constexpr std::uint32_t kTimestampBits = 36;

struct ContextObject {};

struct LogObject {
  explicit LogObject(std::string text) : words(std::move(text)) {}
  std::string words;
};

struct ModuleObject {
  std::vector<std::uint32_t> words;
  std::vector<std::uint8_t> bitcode;
  std::shared_ptr<Code> code;
  std::map<std::string, std::vector<Passing>> kernels;
};

struct KernelObject {
  std::shared_ptr<CodeKernel> code;
  std::vector<Passing> passing;
  std::vector<ArgumentValue> arguments;
  Three group{0, 0, 0};
  std::uint32_t spill_bytes = 0;
  std::uint32_t max_group_size = 0;
};

/// Objects are counted, so that a test sees what was not destroyed.
template <typename T, typename... Arguments>
T* made(Arguments&&... arguments) {
  State::instance().note_object(1);
  return new T(std::forward<Arguments>(arguments)...);
}
template <typename T, typename Handle>
T* to_object(Handle handle) {
  return reinterpret_cast<T*>(handle);
}
template <typename Handle, typename T>
Handle to_handle(T* object) {
  return reinterpret_cast<Handle>(object);
}
template <typename T, typename Handle>
void destroyed(Handle handle) {
  State::instance().note_object(-1);
  delete to_object<T>(handle);
}

ze_result_t set_argument(KernelObject& kernel, std::uint32_t index, std::size_t size,
                         const void* value);
ze_result_t set_group(KernelObject& kernel, const Three& group);

}  // namespace salvo::test::level_zero
