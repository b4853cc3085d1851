// Runtimes: putting backends, devices and the window together, and the default one's life.
// SPDX-License-Identifier: MIT
#include "salvo/runtime.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "api/access.hpp"
#include "backends/registry.hpp"
#include "runtime/at_exit.hpp"
#include "runtime/core.hpp"
#include "runtime/fork.hpp"
#include "window/launch_window.hpp"

namespace salvo {
namespace {

/// A Core and the window on it, destroyed together: the window first.
struct Joined {
  Joined(runtime::Environment environment, std::vector<std::unique_ptr<runtime::Backend>> backends,
         const std::string& cache_folder)
      : core(std::move(environment), std::move(backends), cache_folder), launches(core) {
    core.set_held_work(&launches);
  }
  runtime::Core core;
  window::LaunchWindow launches;
};

std::shared_ptr<runtime::Core> make_core(RuntimeOptions& options) {
  const EnvironmentLookup lookup =
      options.environment ? options.environment
                          : EnvironmentLookup([](const char* name) { return std::getenv(name); });
  runtime::Environment environment(lookup);
  std::vector<std::unique_ptr<runtime::Backend>> backends = std::move(options.own.list);
  std::string cache_folder = std::move(options.cache_folder);
  if (cache_folder.empty() && backends.empty()) cache_folder = environment.cache_dir;
  if (options.built_in_backends) {
    auto built_in = backends::built_in(
        {.vulkan = {.batch = environment.vulkan_batch,
                    .validation = environment.vulkan_validation,
                    .large_push_constants = environment.vulkan_large_push_constants},
         .native = {.llvm = environment.native_llvm,
                    .bounds_checks = environment.native_checks,
                    .symbols = environment.native_symbols},
         .level_zero = {.in_order = environment.level_zero_in_order},
         .interpreter = {.workers = environment.interpreter_workers,
                         .max_steps = environment.interpreter_steps}});
    std::move(built_in.begin(), built_in.end(), std::back_inserter(backends));
  }
  auto joined = std::make_shared<Joined>(std::move(environment), std::move(backends), cache_folder);
  return {joined, &joined->core};
}

/// The runtimes of this process that are alive: whichever are when the program exits.
class Living {
 public:
  /// Never destroyed. A fork child has one of its own: its parent's may be locked for ever.
  static Living& instance() {
    static std::atomic<Living*> current{nullptr};
    Living* known = current.load(std::memory_order_acquire);
    while (!known || known->made_in_ != runtime::fork_count()) {
      auto made = std::make_unique<Living>();
      if (current.compare_exchange_strong(known, made.get())) known = made.release();
    }
    return *known;
  }

  void add(const std::shared_ptr<runtime::Core>& core) {
    const std::lock_guard lock(lock_);
    std::erase_if(cores_, [](const auto& one) { return one.expired(); });
    cores_.push_back(core);
  }
  /// Those that are left, the first time.
  std::vector<std::shared_ptr<runtime::Core>> end() {
    std::vector<std::shared_ptr<runtime::Core>> left;
    const std::lock_guard lock(lock_);
    for (const auto& one : std::exchange(cores_, {})) {
      if (auto core = one.lock()) left.push_back(std::move(core));
    }
    return left;
  }

 private:
  std::mutex lock_;
  std::vector<std::weak_ptr<runtime::Core>> cores_;
  const std::uint32_t made_in_ = runtime::fork_count();
};

/// W61: what is still held runs before the program ends; a failure has nobody to catch it.
void issue_at_exit() {
  for (const auto& core : Living::instance().end()) {
    // None: another thread is destroying the runtime.
    if (auto* held = static_cast<window::LaunchWindow*>(core->held_work())) held->exit();
    try {
      core->end_trace();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "salvo: %s\n", error.what());
    }
  }
  for (const Error& failure : window::take_pending()) {
    std::fprintf(stderr, "salvo: a held launch failed at exit: %s\n", failure.what());
  }
}

std::vector<Device> to_devices(const std::vector<std::shared_ptr<runtime::DeviceState>>& states) {
  std::vector<Device> devices;
  for (const auto& state : states) devices.emplace_back(state);
  return devices;
}

}  // namespace

Runtime& Runtime::instance() {
  // Never destroyed: see the header.
  static Runtime* const runtime = new Runtime();
  return *runtime;
}

detail::OwnBackends::OwnBackends() = default;
detail::OwnBackends::OwnBackends(OwnBackends&& other) noexcept = default;
detail::OwnBackends::~OwnBackends() = default;

Runtime::Runtime(RuntimeOptions options)
    : core_(make_core(options)), window_(core_), policy_(core_) {
  Living::instance().add(core_);
  runtime::run_at_exit(issue_at_exit);
}

Runtime::~Runtime() {
  if (core_->is_inherited()) {
    // Left as it is, for ever: the parent's threads and locks are in it (W61).
    static_cast<void>(new (std::nothrow) std::shared_ptr<runtime::Core>(std::move(core_)));
    return;
  }
  window::LaunchWindow& launches = api::window_of(*core_);
  launches.issue_from_destructor();
  try {
    core_->end_trace();
  } catch (...) {
    launches.keep_failure(std::current_exception());
  }
  core_->set_held_work(nullptr);
}

std::vector<Device> Runtime::devices() const {
  return to_devices(core_->devices());
}
Device Runtime::best() const {
  return Device(core_->best());
}
std::vector<Device> Runtime::by_backend(std::string_view backend) const {
  return to_devices(core_->by_backend(backend));
}
Device Runtime::get(std::string_view id) const {
  return Device(core_->get(id));
}
std::vector<BackendInfo> Runtime::backends() const {
  return core_->backends();
}
void Runtime::clear_launch_cache() {
  auto& launches = api::window_of(*core_);
  api::flush_then(launches, [&] { launches.clear_launch_cache(); });
  window::throw_pending();
}

DiskCacheReport Runtime::disk_cache() const {
  const runtime::DiskCache* cache = core_->disk_cache();
  if (!cache) return {};
  DiskCacheReport report = cache->report();
  report.enabled = core_->environment().disk_cache;
  return report;
}

void Runtime::clear_disk_cache() {
  if (runtime::DiskCache* cache = core_->disk_cache()) cache->clear();
}

std::vector<EnvironmentVariable> Runtime::environment() const {
  return core_->environment().table();
}

}  // namespace salvo
