// A device in use: its driver, the lock around it, its memory pool and its compiled kernels.
// SPDX-License-Identifier: MIT
#include "runtime/device_state.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/at_exit.hpp"
#include "runtime/backend_names.hpp"
#include "runtime/code_version.hpp"
#include "runtime/float_probe.hpp"

namespace salvo::runtime {
namespace {

std::uint32_t next_serial() noexcept {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

}  // namespace

DeviceState::DeviceState(std::shared_ptr<Backend> backend, std::unique_ptr<DeviceDriver> driver,
                         std::string id, std::uint32_t ordinal,
                         std::shared_ptr<DiskCache> disk_cache, std::shared_ptr<Trace> trace)
    : backend_(std::move(backend)),
      driver_(std::move(driver)),
      trace_(std::move(trace)),
      watched_driver_(driver_.get()),
      properties_(driver_->properties()),
      id_(std::move(id)),
      backend_name_(backend_->name()),
      backend_index_(runtime::backend_index(backend_name_)),
      ordinal_(ordinal),
      serial_(next_serial()),
      pool_(*driver_),
      streams_(*driver_),
      disk_cache_(std::move(disk_cache)) {
  if (!trace_) return;
  watched_ = std::make_unique<WatchedDriver>(*driver_, id_, trace_);
  watched_driver_ = watched_.get();
}

DeviceState::~DeviceState() {
  try {
    driver_->finish(driver_->queue());
  } catch (...) {
    // A lost device finishes nothing; its handles are released all the same.
  }
  built_.clear();
  sources_.clear();
  pool_.trim();
}

namespace {

/// Whether trying again is pointless: the kernel, not the moment, is at fault.
bool is_lasting(const Error& failure) {
  return failure.code() == Errc::compile_failed || failure.code() == Errc::unsupported ||
         failure.code() == Errc::invalid_kernel;
}

void raise(std::atomic<std::uint64_t>& count) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
}

std::string_view bytes_of(const std::uint64_t& value) noexcept {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace

void DeviceState::read(void* target, Buffer from, std::size_t offset, std::size_t bytes) {
  Queue& queue = driver().queue();
  try {
    driver().read(queue, target, from, offset, bytes);
  } catch (const Error& failure) {
    throw launches_.blame(failure, &queue);
  }
  launches_.done(&queue);
  note_waited();
}

void DeviceState::finish(Queue& queue) {
  try {
    driver().finish(queue);
  } catch (const Error& failure) {
    throw launches_.blame(failure, &queue);
  }
  launches_.done(&queue);
  note_waited();
}

void DeviceState::finish_all() {
  try {
    streams_.finish_all();
  } catch (const Error& failure) {
    throw launches_.blame(failure, nullptr);
  }
  launches_.done(nullptr);
  note_waited();
}

void DeviceState::start_timing(std::shared_ptr<LaunchTimes> times) {
  if (!watched_) watched_ = std::make_unique<WatchedDriver>(*driver_, id_, nullptr);
  watched_->add(std::move(times));
  watched_driver_ = watched_.get();
}

void DeviceState::stop_timing(const LaunchTimes& times) {
  watched_->remove(times);
  // Threads that build may still be inside it, so it stays.
  if (!trace_ && !watched_->is_timing()) watched_driver_ = driver_.get();
}

void DeviceState::settle_times() {
  if (watched_) watched_->settle();
}

Program DeviceState::translate(const ir::Kernel& kernel, const TranslateOptions& options) {
  raise(first_launch_counts_.sources_generated);
  return driver().translate(kernel, options);
}

CacheKey DeviceState::disk_key(const Program& program, const TranslateOptions& options) {
  const DeviceProperties& device = driver_->properties();
  std::string device_options;
  for (const std::string& option : program.options) {
    device_options += option;
    device_options += '\0';
  }
  return {.device = digest_of({backend_name_, device.platform, device.vendor, device.name}),
          .driver = digest_of({device.driver_version}),
          .compiler = digest_of({driver_->build_identity()}),
          .salvo = digest_of({code_version()}),
          .options = digest_of({device_options, options.device_contraction ? "contract" : "",
                                bytes_of(options.may_alias)}),
          .code = digest_of({program.entry, program.code})};
}

std::unique_ptr<Executable> DeviceState::load_or_build(const ir::Kernel& kernel,
                                                       const Program& program,
                                                       const TranslateOptions& options) {
  const auto build = [&](std::span<const std::byte> cached) {
    auto made = driver().build(kernel, program, cached);
    made->set_name(kernel.name);
    return made;
  };
  if (!disk_cache_) return build({});
  const CacheKey key = disk_key(program, options);
  if (const DiskCache::Found cached = disk_cache_->find(key); cached.result == CacheLookup::found) {
    try {
      auto loaded = build(cached.binary);
      disk_cache_->accept(key);
      return loaded;
    } catch (const Error&) {
      // The driver knows best what it can load. If something else is wrong, it is met again below.
      disk_cache_->refuse(key);
    }
  }
  auto built = build({});
  try {
    disk_cache_->store(key, built->binary());
  } catch (const Error&) {
    // The kernel runs; that its binary cannot be had costs the next process a build, nothing more.
  }
  return built;
}

Executable& DeviceState::executable(const ir::Kernel& kernel, const ir::Digest& digest,
                                    const TranslateOptions& options, const Program* program) {
  raise(first_launch_counts_.compile_cache_keys);
  std::unique_lock lock(build_lock_);
  refuse_if_closed();
  Built& built = built_[{digest, options.device_contraction, options.may_alias}];
  built_one_.wait(lock, [&] { return built.builder == std::thread::id(); });
  if (built.failure) std::rethrow_exception(built.failure);
  if (built.executable) return *built.executable;
  built.builder = std::this_thread::get_id();
  lock.unlock();  // other kernels are built meanwhile
  std::unique_ptr<Executable> made;
  std::exception_ptr failure;
  bool lasts = false;
  try {
    made = program ? load_or_build(kernel, *program, options)
                   : load_or_build(kernel, translate(kernel, options), options);
  } catch (const Error& error) {
    failure = std::current_exception();
    lasts = is_lasting(error);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  built.builder = {};
  built.executable = std::move(made);
  if (lasts) built.failure = failure;
  built_one_.notify_all();
  built_since_wait_.store(true, std::memory_order_relaxed);
  renew_exit_handler();
  if (failure) std::rethrow_exception(failure);
  return *built.executable;
}

std::shared_ptr<Executable> DeviceState::executable(const UserSource& source) {
  std::vector<std::string> key{source.language, source.code, source.entry};
  key.insert(key.end(), source.options.begin(), source.options.end());
  const std::lock_guard lock(build_lock_);
  refuse_if_closed();
  std::shared_ptr<Executable>& known = sources_[std::move(key)];
  if (!known) {
    known = driver().build_source(source);
    known->set_name(source.entry);
  }
  return known;
}

void DeviceState::wait_for_builds(std::unique_lock<std::mutex>& lock) {
  // One of this thread's own never ends meanwhile: what it called, such as a log sink, is here.
  const auto is_building = [](const auto& one) {
    const std::thread::id builder = one.second.builder;
    return builder != std::thread::id() && builder != std::this_thread::get_id();
  };
  built_one_.wait(lock, [&] { return std::ranges::none_of(built_, is_building); });
}

void DeviceState::renew_after_wait() noexcept {
  if (built_since_wait_.exchange(false, std::memory_order_relaxed)) renew_exit_handler();
}

void DeviceState::close() {
  // What on_scratch_drain registered may end the program too; the launch it was called for is this
  // thread's, and waits for its end.
  std::unique_lock<QuietMutex> reclaimer(issue_lock_, std::defer_lock);
  std::optional<IssueTurn> turn;
  if (is_reclaiming()) {
    reclaimer.lock();
  } else {
    turn.emplace(*this);
  }
  {
    std::unique_lock lock(build_lock_);
    closed_ = true;
    wait_for_builds(lock);
  }
  finish_all();
}

void DeviceState::throw_closed() {
  throw Error(Errc::no_device, "the program is exiting");
}

void DeviceState::forget_failure(const ir::Digest& digest, const TranslateOptions& options) {
  const std::lock_guard lock(build_lock_);
  const auto found = built_.find({digest, options.device_contraction, options.may_alias});
  if (found != built_.end()) found->second.failure = nullptr;
}

FloatProbe DeviceState::probe() {
  // Kept as compiled kernels are: what decides it is the device, its driver and compiler, and
  // Salvo.
  const CacheKey key = disk_key({"float_probe", "", {}, "float_probe"}, {});
  using Kept = std::array<std::uint32_t, 4>;
  if (disk_cache_) {
    const DiskCache::Found known = disk_cache_->find(key);
    if (known.result == CacheLookup::found && known.binary.size() == sizeof(Kept)) {
      disk_cache_->accept(key);
      Kept kept;
      std::memcpy(kept.data(), known.binary.data(), sizeof kept);
      return {.measured = true,
              .cases = kept[0],
              .contracted = kept[1],
              .fma_rounded_once = kept[2],
              .narrowing_survives = kept[3] != 0};
    }
    if (known.result == CacheLookup::found) disk_cache_->refuse(key);
  }
  FloatProbe measured;
  try {
    measured = measure_floats(*this);
  } catch (const Error&) {
    // A device that cannot run the probe is treated as one that contracts: nothing merges on it.
    return {};
  }
  if (disk_cache_) {
    const Kept kept{measured.cases, measured.contracted, measured.fma_rounded_once,
                    measured.narrowing_survives ? 1U : 0U};
    disk_cache_->store(key, std::as_bytes(std::span(kept)));
  }
  return measured;
}

FloatProbe DeviceState::float_probe() {
  const std::lock_guard issue(issue_lock_);
  if (closed_) return {};
  if (!probed_.load(std::memory_order_relaxed)) {
    probe_ = probe();
    probed_.store(true, std::memory_order_release);
  }
  return probe_;
}

void DeviceState::clear_executables() {
  std::unique_lock lock(build_lock_);
  wait_for_builds(lock);
  // What this thread builds meanwhile is still written to.
  std::erase_if(built_, [](const auto& one) { return one.second.builder == std::thread::id(); });
  sources_.clear();
  ++generation_;
}

void DeviceState::on_scratch_drain(std::function<void()> reclaim) {
  const std::lock_guard issue(issue_lock_);
  reclaimers_.push_back(std::move(reclaim));
}

void DeviceState::IssueTurn::refuse_reclaiming() {
  throw Error(Errc::invalid_argument,
              "what on_scratch_drain registered launched a kernel or cleared a cache");
}

void DeviceState::wait_for_reclaimed() {
  reclaimed_.wait(issue_lock_,
                  [&] { return reclaiming_.load(std::memory_order_relaxed) == std::thread::id(); });
}

void DeviceState::reclaim_outside() {
  if (reclaimers_.empty()) return;
  const std::vector<std::function<void()>> reclaimers = reclaimers_;
  reclaiming_ = std::this_thread::get_id();
  issue_lock_.unlock();
  std::exception_ptr failure;
  try {
    for (const auto& reclaim : reclaimers) reclaim();
  } catch (...) {
    failure = std::current_exception();
  }
  issue_lock_.lock();
  reclaiming_ = std::thread::id();
  reclaimed_.notify_all();
  if (failure) std::rethrow_exception(failure);
}

void DeviceState::grow_scratch(std::uint32_t& mark, std::uint32_t bytes) {
  if (drains_scratch_) {
    // Cached blocks may have work of any stream in flight, so all of them are waited for.
    streams_.finish_all();
    reclaim_outside();
    pool_.trim();
    raise(scratch_drains_);
  }
  mark = bytes;
}

}  // namespace salvo::runtime
