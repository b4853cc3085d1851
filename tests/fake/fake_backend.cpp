// A recording backend for tests: runs kernels for real on the interpreter, notes every driver call,
// and fails the calls it is told to.
// SPDX-License-Identifier: MIT
#include "fake/fake_backend.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "fake/late_queue.hpp"

#include "backends/interpreter/interpreter_backend.hpp"
#include "backends/registry.hpp"
#include "codegen/features.hpp"

namespace salvo::tests {

std::vector<DriverCall> FakeControl::calls() const {
  const std::lock_guard lock(lock_);
  return calls_;
}

std::size_t FakeControl::count(Driver what) const {
  const std::lock_guard lock(lock_);
  return static_cast<std::size_t>(std::ranges::count(calls_, what, &DriverCall::what));
}

std::vector<std::string> FakeControl::launched() const {
  const std::lock_guard lock(lock_);
  std::vector<std::string> names;
  for (const DriverCall& call : calls_) {
    if (call.what == Driver::launch) names.push_back(call.kernel);
  }
  return names;
}

void FakeControl::clear() {
  const std::lock_guard lock(lock_);
  calls_.clear();
}

void FakeControl::fail(Driver what, std::uint32_t nth, std::string kernel, Errc code) {
  const std::lock_guard lock(lock_);
  faults_.push_back({what, nth, std::move(kernel), code, false});
}

void FakeControl::fail_after_start(std::string kernel) {
  const std::lock_guard lock(lock_);
  faults_.push_back({Driver::launch, 1, std::move(kernel), Errc::launch_failed, true});
}

bool FakeControl::all_faults_struck() const {
  const std::lock_guard lock(lock_);
  return faults_.empty();
}

void FakeControl::note(DriverCall call) {
  const std::lock_guard lock(lock_);
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    if (fault->what != call.what) continue;
    if (!fault->kernel.empty() && call.kernel.find(fault->kernel) == std::string::npos) continue;
    if (--fault->left > 0) continue;
    Error::Details details;
    details.code = fault->code;
    details.backend = "fake";
    details.operation = "injected";
    details.message = "an injected failure";
    details.may_have_started = fault->may_have_started;
    faults_.erase(fault);
    throw Error(std::move(details));
  }
  calls_.push_back(std::move(call));
}

void FakeControl::fail_on_device(std::string kernel, Errc code) {
  const std::lock_guard lock(lock_);
  device_faults_.emplace_back(std::move(kernel), code);
}

std::optional<Errc> FakeControl::takes_down(const std::string& kernel) {
  const std::lock_guard lock(lock_);
  const auto found = std::ranges::find_if(device_faults_, [&](const auto& fault) {
    return kernel.find(fault.first) != std::string::npos;
  });
  if (found == device_faults_.end()) return std::nullopt;
  const Errc code = found->second;
  device_faults_.erase(found);
  return code;
}

void FakeControl::hold_builds(std::string kernel) {
  const std::lock_guard lock(lock_);
  held_builds_ = std::move(kernel);
}

void FakeControl::release_builds() {
  const std::lock_guard lock(lock_);
  held_builds_.clear();
  released_.notify_all();
}

void FakeControl::wait_for_build(const std::string& kernel) {
  std::unique_lock lock(lock_);
  released_.wait(
      lock, [&] { return held_builds_.empty() || kernel.find(held_builds_) == std::string::npos; });
}

std::string_view recorded_backend() {
  const char* name = std::getenv("SALVO_TEST_RECORDED");
  return name ? name : "Interpreter";
}

namespace {

std::unique_ptr<runtime::Backend> make_recorded() {
  for (auto& backend : backends::built_in({})) {
    if (backend->name() == recorded_backend()) return std::move(backend);
  }
  throw std::runtime_error("SALVO_TEST_RECORDED names no backend");
}

/// Here rather than in `open`, whose failures a runtime takes for a backend that is missing.
void require_recorded() {
  static const std::string missing = [] {
    const auto backend = make_recorded();
    return backend->open().empty() ? backend->unavailable()->reason : "";
  }();
  if (!missing.empty()) throw std::runtime_error("no device to record: " + missing);
}

DeviceProperties properties_of_recorded() {
  require_recorded();
  return make_recorded()->open().front()->properties();
}

struct Watch {
  std::mutex lock;
  std::function<void(const ir::Kernel&)> see;
  std::function<void(const WatchedLaunch&)> see_launch;
};
Watch& watch() {
  static Watch& one = *new Watch;
  return one;
}

void see(const ir::Kernel& kernel) {
  const std::lock_guard lock(watch().lock);
  if (watch().see) watch().see(kernel);
}

bool watches_launches() {
  const std::lock_guard lock(watch().lock);
  return watch().see_launch != nullptr;
}

/// Products that are stored are looked through as well, as a device compiler would.
ir::Kernel contracted(ir::Kernel kernel) {
  for (ir::Block& block : kernel.blocks) {
    for (const ir::ValueId id : block.nodes) {
      ir::Node& sum = kernel.nodes[id];
      if (sum.op != ir::Op::Add || !ir::is_float(sum.type)) continue;
      const ir::Node& product = kernel.nodes[sum.operands[0]];
      if (product.op != ir::Op::Mul) continue;
      sum.op = ir::Op::Fma;
      sum.operands[2] = sum.operands[1];
      sum.operands[1] = product.operands[1];
      sum.operands[0] = product.operands[0];
      sum.operand_count = 3;
    }
  }
  return kernel;
}

/// What a real device compiler would make of a program: bytes that are good for nothing else.
std::vector<std::byte> compile(const runtime::Program& program) {
  const std::string text = "fake machine code of " + program.code;
  std::vector<std::byte> binary(text.size());
  std::memcpy(binary.data(), text.data(), text.size());
  return binary;
}

class FakeExecutable final : public runtime::Executable {
 public:
  FakeExecutable(std::unique_ptr<runtime::Executable> real, std::string name,
                 std::uint32_t max_threads, std::vector<std::byte> binary)
      : inner(std::move(real)),
        kernel(std::move(name)),
        max_threads_(max_threads),
        binary_(std::move(binary)) {}
  std::uint32_t max_threads_per_block() const noexcept override { return max_threads_; }
  std::uint32_t spill_bytes_per_thread() const noexcept override { return spill; }
  std::vector<std::byte> binary() const override { return binary_; }
  std::optional<std::vector<runtime::SourceParameter>> source_parameters() const override {
    return parameters;
  }

  const std::shared_ptr<runtime::Executable> inner;
  const std::string kernel;
  std::optional<std::vector<runtime::SourceParameter>> parameters;
  std::uint32_t spill = 0;
  std::shared_ptr<const ir::Kernel> watched;  // while launches are

 private:
  std::uint32_t max_threads_;
  std::vector<std::byte> binary_;
};

class FakeDevice final : public runtime::DeviceDriver {
 public:
  FakeDevice(std::unique_ptr<runtime::DeviceDriver> inner, std::shared_ptr<FakeControl> control,
             const FakeOptions& options, std::uint32_t number)
      : inner_(std::move(inner)),
        control_(std::move(control)),
        options_(options),
        number_(number),
        properties_(test_properties(inner_->properties())) {
    properties_.name = "Fake";
    properties_.is_cpu = false;
    properties_.exact_arithmetic = !options_.contracts;
    if (options_.adjust) options_.adjust(properties_);
  }

  const DeviceProperties& properties() const noexcept override { return properties_; }
  bool works_on_host_memory() const noexcept override { return options_.in_place; }

  runtime::Buffer allocate(std::size_t bytes) override {
    note({Driver::allocate, "", {}, bytes});
    return inner_->allocate(bytes);
  }
  void release(runtime::Buffer buffer) noexcept override {
    note({Driver::release, "", {}, buffer.bytes});
    inner_->release(buffer);
  }

  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override {
    codegen::require(kernel, properties_, options_.backend);
    runtime::Program program = inner_->translate(kernel, options);
    const runtime::Program real = program;
    if (options_.rewrite) options_.rewrite(program);
    if (options_.marks_aliases) program.code += options.may_alias == 0 ? " apart" : " aliasing";
    const std::lock_guard lock(translated_lock_);
    translated_.insert_or_assign(program.code, real);
    return program;
  }
  std::unique_ptr<runtime::Executable> build(const ir::Kernel& kernel,
                                             const runtime::Program& program,
                                             std::span<const std::byte> cached) override {
    note({cached.empty() ? Driver::build : Driver::load, kernel.name, {}, 0, 0, program.code});
    see(kernel);
    control_->wait_for_build(kernel.name);
    std::vector<std::byte> binary = compile(program);
    if (!cached.empty() && !std::ranges::equal(cached, binary)) {
      throw Error(Errc::compile_failed, "this is no binary of that program");
    }
    if (!options_.has_binary) binary.clear();
    const std::uint32_t own = options_.max_threads ? options_.max_threads(kernel) : 0;
    auto real = build_really(options_.contracts ? contracted(kernel) : kernel, program);
    auto made = std::make_unique<FakeExecutable>(std::move(real), kernel.name,
                                                 own ? own : properties_.max_threads_per_block,
                                                 std::move(binary));
    if (options_.spill) made->spill = options_.spill(kernel);
    if (watches_launches()) made->watched = std::make_shared<const ir::Kernel>(kernel);
    return made;
  }
  std::string build_identity() const override { return options_.build_identity; }
  std::uint32_t preferred_block(const runtime::Executable*) const override { return 256; }
  runtime::ParameterCost parameter_cost(const ir::Kernel& kernel) const override {
    if (options_.cost) return options_.cost(kernel);
    runtime::ParameterCost cost;
    for (const ir::Parameter& parameter : kernel.parameters) {
      cost.bytes += parameter.is_span ? 16 : 8;
      cost.slots += parameter.is_span ? 2 : 1;
      cost.push_constant_bytes +=
          parameter.is_span ? 4 : static_cast<std::uint32_t>(ir::size_of(parameter.type));
    }
    return cost;
  }

  std::unique_ptr<runtime::Executable> build_source(const runtime::UserSource& source) override {
    note({Driver::build_source, source.entry, {}, 0});
    const auto kernel = options_.compiler ? options_.compiler(source) : std::nullopt;
    if (!kernel) {
      Error::Details details;
      details.code = Errc::compile_failed;
      details.backend = "fake";
      details.operation = "compile";
      details.message = "the source does not compile";
      details.log = "line 1: " + source.code;
      throw Error(std::move(details));
    }
    auto made = std::make_unique<FakeExecutable>(
        inner_->build(*kernel, inner_->translate(*kernel, {}), {}), source.entry,
        properties_.max_threads_per_block, std::vector<std::byte>{});
    if (options_.tells_parameters) {
      made->parameters.emplace();
      for (const ir::Parameter& parameter : kernel->parameters) {
        made->parameters->push_back(
            {parameter.is_span, parameter.is_span ? 0 : ir::size_of(parameter.type)});
      }
    }
    return made;
  }

  runtime::Queue& queue() noexcept override { return queue_; }
  void launch(runtime::Queue& queue, runtime::Executable& executable,
              const runtime::LaunchShape& shape,
              std::span<const runtime::Argument> arguments) override {
    auto& fake = static_cast<FakeExecutable&>(executable);
    note({Driver::launch, fake.kernel, shape, 0}, &queue);
    if (const auto failure = control_->takes_down(fake.kernel)) {
      late(queue).failure = failure;
      return;
    }
    give(queue, [this, code = fake.inner, watched = fake.watched, shape,
                 given = std::vector<runtime::Argument>(arguments.begin(), arguments.end())] {
      const auto before = watched ? memory_of(given) : Memory{};
      inner_->launch(inner_->queue(), *code, shape, given);
      ++clock_;
      if (watched) show(*watched, shape, given, before);
    });
  }
  std::size_t shortest_replay() const noexcept override { return options_.shortest_replay; }
  bool replay(runtime::Queue& queue, std::span<const runtime::LaunchCommand> commands) override {
    std::string sequence;
    for (const runtime::LaunchCommand& command : commands) {
      sequence += static_cast<FakeExecutable*>(command.executable)->kernel + "," +
                  std::to_string(command.shape->grid[0]) + ";";
    }
    if (sequences_.insert(sequence).second) return false;
    try {
      note({Driver::replay, sequence, {}, commands.size()}, &queue);
    } catch (const Error&) {
      return false;
    }
    for (const runtime::LaunchCommand& command : commands) {
      launch(queue, *command.executable, *command.shape, command.arguments);
    }
    return true;
  }
  void write(runtime::Queue& queue, runtime::Buffer to, std::size_t offset, const void* source,
             std::size_t bytes) override {
    note({Driver::write, "", {}, bytes}, &queue);
    const auto* first = static_cast<const std::byte*>(source);
    give(queue, [this, to, offset, kept = std::vector<std::byte>(first, first + bytes)] {
      inner_->write(inner_->queue(), to, offset, kept.data(), kept.size());
    });
  }
  void read(runtime::Queue& queue, void* target, runtime::Buffer from, std::size_t offset,
            std::size_t bytes) override {
    note({Driver::read, "", {}, bytes}, &queue);
    give(queue, [=, this] { inner_->read(inner_->queue(), target, from, offset, bytes); });
    run(queue);
    throw_failure(queue);
  }
  void copy(runtime::Queue& queue, runtime::Buffer to, std::size_t to_offset, runtime::Buffer from,
            std::size_t from_offset, std::size_t bytes) override {
    note({Driver::copy, "", {}, bytes}, &queue);
    give(queue,
         [=, this] { inner_->copy(inner_->queue(), to, to_offset, from, from_offset, bytes); });
  }
  bool copy_from(runtime::Queue& queue, runtime::Buffer to, std::size_t to_offset,
                 runtime::DeviceDriver& source, runtime::Queue& source_queue, runtime::Buffer from,
                 std::size_t from_offset, std::size_t bytes) override {
    if (!options_.peers) return false;
    note({Driver::copy_from_peer, "", {}, bytes}, &queue);
    auto& other = static_cast<FakeDevice&>(source);
    other.run(source_queue);
    std::vector<std::byte> kept(bytes);
    other.inner_->read(other.inner_->queue(), kept.data(), from, from_offset, bytes);
    give(queue, [this, to, to_offset, kept = std::move(kept)] {
      inner_->write(inner_->queue(), to, to_offset, kept.data(), kept.size());
    });
    return true;
  }
  runtime::Buffer adopt(std::uint64_t address, std::size_t bytes) override {
    return {address, bytes, address};
  }
  std::unique_ptr<runtime::Queue> adopt_queue(std::uintptr_t) override {
    note({Driver::adopt_queue, "", {}, 0});
    return std::make_unique<LateQueue>(++last_queue_);
  }
  void submit(runtime::Queue& queue) override { note({Driver::submit, "", {}, 0}, &queue); }
  void finish(runtime::Queue& queue) override {
    note({Driver::finish, "", {}, 0}, &queue);
    run(queue);
    inner_->finish(inner_->queue());
    throw_failure(queue);
  }

  std::unique_ptr<runtime::Queue> make_queue(int) override {
    note({Driver::make_queue, "", {}, 0});
    return std::make_unique<LateQueue>(++last_queue_);
  }
  std::unique_ptr<runtime::Event> make_event() override { return std::make_unique<LateEvent>(); }
  void record(runtime::Queue& queue, runtime::Event& event) override {
    note({Driver::record, "", {}, 0}, &queue);
    auto& point = static_cast<LateEvent&>(event);
    auto moment = std::make_shared<LateMoment>();
    give(queue, [this, moment] { moment->time = clock_; });
    const std::lock_guard lock(lock_);
    moment->work = late(queue).work();
    moment->position = moment->work->given();
    point.moment = std::move(moment);
  }
  void wait(runtime::Queue& queue, runtime::Event& event) override {
    note({Driver::wait_in_queue, "", {}, 0}, &queue);
    std::shared_ptr<LateMoment> moment;
    {
      const std::lock_guard lock(lock_);
      moment = moment_of(event);
    }
    if (moment) give(queue, [moment] { moment->reach(); });
  }
  void wait(runtime::Event& event) override {
    note({Driver::wait, "", {}, 0});
    const std::lock_guard lock(lock_);
    if (const auto moment = moment_of(event)) moment->reach();
    inner_->finish(inner_->queue());
  }
  bool reached(runtime::Event& event) override {
    const std::lock_guard lock(lock_);
    const auto moment = moment_of(event);
    return !moment || moment->is_reached();
  }
  double elapsed_ms(runtime::Event& first, runtime::Event& second) override {
    const std::lock_guard lock(lock_);
    moment_of(first)->reach();
    moment_of(second)->reach();
    return static_cast<double>(moment_of(second)->time) -
           static_cast<double>(moment_of(first)->time);
  }

  runtime::HostBlock allocate_host(std::size_t bytes) override {
    note({Driver::allocate_host, "", {}, bytes});
    return {::operator new(bytes), bytes, 1};
  }
  void release_host(runtime::HostBlock block) noexcept override {
    note({Driver::release_host, "", {}, block.bytes});
    ::operator delete(block.data);
  }
  runtime::HostBlock register_host(void* data, std::size_t bytes) override {
    note({Driver::register_host, "", {}, bytes});
    return {data, bytes, 2};
  }
  void unregister_host(runtime::HostBlock block) noexcept override {
    note({Driver::unregister_host, "", {}, block.bytes});
  }
  void write_async(runtime::Queue& queue, runtime::Buffer to, std::size_t offset,
                   const runtime::HostBlock& from, std::size_t from_offset,
                   std::size_t bytes) override {
    note({Driver::write_async, "", {}, bytes}, &queue);
    const auto* source = static_cast<const std::byte*>(from.data) + from_offset;
    give(queue, [=, this] { inner_->write(inner_->queue(), to, offset, source, bytes); });
  }
  void read_async(runtime::Queue& queue, const runtime::HostBlock& to, std::size_t to_offset,
                  runtime::Buffer from, std::size_t offset, std::size_t bytes) override {
    note({Driver::read_async, "", {}, bytes}, &queue);
    auto* target = static_cast<std::byte*>(to.data) + to_offset;
    give(queue, [=, this] { inner_->read(inner_->queue(), target, from, offset, bytes); });
  }

 private:
  using Memory = std::vector<std::vector<std::byte>>;

  /// What the tests know of a device: the interpreter's properties, of which a kernel on another
  /// device meets but the width of its warps.
  static DeviceProperties test_properties(const DeviceProperties& real) {
    DeviceProperties made = backends::interpreter::make_backend()->open().front()->properties();
    made.warp_size = real.warp_size;
    return made;
  }

  /// For the recorded device, as it would have it: `program` may bear marks of the test's.
  std::unique_ptr<runtime::Executable> build_really(const ir::Kernel& kernel,
                                                    const runtime::Program& program) {
    if (options_.contracts) return inner_->build(kernel, inner_->translate(kernel, {}), {});
    const std::lock_guard lock(translated_lock_);
    const auto known = translated_.find(program.code);
    return inner_->build(kernel, known == translated_.end() ? program : known->second, {});
  }

  Memory memory_of(std::span<const runtime::Argument> arguments) {
    Memory all;
    for (const runtime::Argument& argument : arguments) {
      all.emplace_back(argument.buffer.bytes);
      if (!argument.buffer) continue;
      inner_->read(inner_->queue(), all.back().data(), argument.buffer, 0, argument.buffer.bytes);
    }
    return all;
  }
  void show(const ir::Kernel& kernel, const runtime::LaunchShape& shape,
            std::span<const runtime::Argument> arguments, const Memory& before) {
    const Memory after = memory_of(arguments);
    const std::lock_guard lock(watch().lock);
    if (watch().see_launch) watch().see_launch({kernel, shape, arguments, before, after});
  }
  static LateQueue& late(runtime::Queue& queue) { return static_cast<LateQueue&>(queue); }
  static std::shared_ptr<LateMoment> moment_of(runtime::Event& event) {
    return static_cast<LateEvent&>(event).moment;
  }
  /// The default queue works at once, the others when they must.
  void give(runtime::Queue& queue, std::function<void()> work) {
    const std::lock_guard lock(lock_);
    late(queue).work()->push(std::move(work));
    if (&queue == &queue_) late(queue).work()->run();
  }
  void run(runtime::Queue& queue) {
    const std::lock_guard lock(lock_);
    late(queue).work()->run();
  }

  static void throw_failure(runtime::Queue& queue) {
    const std::optional<Errc> failure = std::exchange(late(queue).failure, std::nullopt);
    if (!failure) return;
    Error::Details details;
    details.code = *failure;
    details.backend = "fake";
    details.operation = "wait";
    details.message = "a launch failed on the device";
    details.may_have_started = true;
    throw Error(std::move(details));
  }

  void note(DriverCall call, runtime::Queue* queue = nullptr) {
    call.device = number_;
    if (queue) call.queue = late(*queue).number();
    control_->note(std::move(call));
  }

  std::unique_ptr<runtime::DeviceDriver> inner_;
  std::shared_ptr<FakeControl> control_;
  FakeOptions options_;
  std::uint32_t number_;
  DeviceProperties properties_;
  std::recursive_mutex lock_;  // work that is done waits for other work
  LateQueue queue_{0};
  std::uint32_t last_queue_ = 0;
  std::set<std::string> sequences_;  // that came before
  mutable std::mutex translated_lock_;
  mutable std::map<std::string, runtime::Program> translated_;  // as the recorded device made it
  std::uint64_t clock_ = 0;
};

class FakeBackend final : public runtime::Backend {
 public:
  FakeBackend(std::shared_ptr<FakeControl> control, FakeOptions options)
      : control_(std::move(control)), options_(std::move(options)) {}

  std::string_view name() const noexcept override { return options_.backend; }
  bool is_jit() const noexcept override { return options_.jit; }
  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override {
    std::vector<std::unique_ptr<runtime::DeviceDriver>> devices;
    if (options_.missing) {
      unavailable_ = runtime::Unavailable{*options_.missing};
      return devices;
    }
    inner_ = make_recorded();
    for (std::uint32_t i = 0; i < options_.devices; ++i) {
      auto real = inner_->open();
      devices.push_back(
          std::make_unique<FakeDevice>(std::move(real.front()), control_, options_, i));
    }
    return devices;
  }
  const std::optional<runtime::Unavailable>& unavailable() const noexcept override {
    return unavailable_;
  }

 private:
  std::shared_ptr<FakeControl> control_;
  FakeOptions options_;
  std::unique_ptr<runtime::Backend> inner_;
  std::optional<runtime::Unavailable> unavailable_;
};

}  // namespace

DeviceProperties recorded_properties() {
  static const DeviceProperties properties = properties_of_recorded();
  return properties;
}

void watch_builds(std::function<void(const ir::Kernel&)> see) {
  const std::lock_guard lock(watch().lock);
  watch().see = std::move(see);
}

void watch_launches(std::function<void(const WatchedLaunch&)> see) {
  const std::lock_guard lock(watch().lock);
  watch().see_launch = std::move(see);
}

std::unique_ptr<runtime::Backend> make_fake_backend(std::shared_ptr<FakeControl> control,
                                                    FakeOptions options) {
  require_recorded();
  return std::make_unique<FakeBackend>(std::move(control), std::move(options));
}

}  // namespace salvo::tests
