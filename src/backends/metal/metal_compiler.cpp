// Compiles MSL for one device, floating point left alone.
// SPDX-License-Identifier: MIT
#include "backends/metal/metal_compiler.hpp"

#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "backends/metal/metal_error.hpp"
#include "runtime/log.hpp"

namespace salvo::backends::metal {
namespace {

constexpr Int kMathModeSafe = 0;
constexpr Int kMathFunctionsPrecise = 1;

void warn_of_fast_math() noexcept {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true)) return;
  runtime::log(
      LogLevel::warning,
      "Metal's compiler cannot be told to leave floating point alone; epilogue fusion stays "
      "off for Metal");
}

Error compile_failure(std::string_view operation, std::string message, std::string log,
                      const std::string& kernel) {
  Error::Details details =
      failure(Errc::compile_failed, operation, std::move(message), std::move(log)).details();
  details.kernel = kernel;
  return Error(std::move(details));
}

}  // namespace

Compiler::Compiler(const Api& api, Id device)
    : api_(api), device_(device), options_(nullptr, Releaser{&api}) {
  const Pool pool(api);
  options_.reset(api.make_new(api.objc_getClass("MTLCompileOptions")));
  exact_ = options_ && forbid_fast_math();
  if (options_) {
    language_version_ = static_cast<std::uint32_t>(api.language_version(options_.get()));
  }
  if (!exact_) warn_of_fast_math();
}

bool Compiler::forbid_fast_math() {
  const auto responds = [&](Selector selector) {
    return api_.responds_to(options_.get(), selector) != 0;
  };
  // The newer of the two means more: the precise functions are asked for besides.
  if (responds(api_.set_math_mode.selector())) {
    api_.set_math_mode(options_.get(), kMathModeSafe);
    if (responds(api_.set_math_functions.selector())) {
      api_.set_math_functions(options_.get(), kMathFunctionsPrecise);
    }
    return true;
  }
  if (!responds(api_.set_fast_math.selector())) return false;
  api_.set_fast_math(options_.get(), 0);
  return true;
}

Pipeline Compiler::compile(const std::string& source, const std::string& entry,
                           const std::string& name) const {
  const Pool pool(api_);
  // Metal ends the process where it is handed nil instead of a string.
  const auto string = [&](const std::string& text) {
    const Id made = api_.string(text.c_str());
    if (made) return made;
    throw compile_failure("stringWithUTF8String:", "the source or its entry's name is not UTF-8",
                          "", name);
  };
  Id error = nullptr;
  const Owned library =
      own(api_, api_.new_library(device_, string(source), options_.get(), &error));
  // Warnings come as an error beside a library.
  if (!library) {
    throw compile_failure("newLibraryWithSource:options:error:",
                          "Metal's compiler refused the source", api_.words(error), name);
  }
  const Owned function = own(api_, api_.new_function(library.get(), string(entry)));
  if (!function) {
    throw compile_failure(
        "newFunctionWithName:", fmt::format("the source has no kernel called {}", entry), "", name);
  }
  error = nullptr;
  Pipeline made{own(api_, api_.new_pipeline(device_, function.get(), &error))};
  if (!made.handle) {
    throw compile_failure("newComputePipelineStateWithFunction:error:",
                          "Metal's compiler made no pipeline of the kernel", api_.words(error),
                          name);
  }
  made.max_threads = static_cast<std::uint32_t>(api_.max_threads(made.handle.get()));
  made.warp_size = static_cast<std::uint32_t>(api_.execution_width(made.handle.get()));
  return made;
}

}  // namespace salvo::backends::metal
