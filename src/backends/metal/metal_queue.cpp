// A command queue: the command buffer that is being filled, and those on their way.
// SPDX-License-Identifier: MIT
#include "backends/metal/metal_queue.hpp"

#include <utility>

#include "backends/metal/metal_error.hpp"

namespace salvo::backends::metal {
namespace {

// Of MTLCommandBufferStatus.
constexpr UInt kCompleted = 4;
constexpr UInt kError = 5;

/// Commands of a command buffer. Long enough to be worth its start, short enough that the device
/// does not idle while the host goes on.
constexpr std::size_t kLongestBatch = 64;
/// A queue has 64 command buffers and blocks for another: those that are done are let go before.
constexpr std::size_t kMostRunning = 32;

}  // namespace

bool is_done(const Api& api, const Batch& batch) {
  return api.status(batch.commands.get()) >= kCompleted;
}

void wait_for(const Api& api, const Batch& batch) {
  api.wait_until_completed(batch.commands.get());
  if (api.status(batch.commands.get()) != kError) return;
  const Pool pool(api);
  throw command_failure(api, api.command_error(batch.commands.get()), batch.names.text());
}

MetalQueue::~MetalQueue() {
  // Metal ends the program over an encoder that goes without its end.
  end_encoder();
}

void MetalQueue::open() {
  if (open_) return;
  if (spare_.empty()) {
    open_ = std::make_shared<Batch>();
  } else {
    open_ = std::move(spare_.back());
    spare_.pop_back();
  }
  const Pool pool(api_);
  open_->commands = retain(api_, api_.command_buffer(handle_.get()));
  if (!open_->commands) {
    open_.reset();
    throw failure(Errc::out_of_memory, "commandBuffer", "the queue gives no command buffer");
  }
}

void MetalQueue::end_encoder() {
  if (kind_ == Encoder::none) return;
  api_.end_encoding(encoder_.get());
  encoder_.reset();
  kind_ = Encoder::none;
  pipeline_ = nullptr;
}

void MetalQueue::begin(Encoder kind) {
  if (kind_ == kind) return;
  end_encoder();
  open();
  const Pool pool(api_);
  const Id commands = open_->commands.get();
  encoder_ = retain(api_, kind == Encoder::compute ? api_.compute_encoder(commands)
                                                   : api_.blit_encoder(commands));
  if (!encoder_) {
    throw failure(Errc::out_of_memory,
                  kind == Encoder::compute ? "computeCommandEncoder" : "blitCommandEncoder",
                  "the command buffer gives no encoder");
  }
  kind_ = kind;
}

Id MetalQueue::compute() {
  begin(Encoder::compute);
  return encoder_.get();
}
Id MetalQueue::blit() {
  begin(Encoder::blit);
  return encoder_.get();
}

void MetalQueue::use(Id pipeline) {
  if (pipeline_ == pipeline) return;
  api_.set_pipeline(encoder_.get(), pipeline);
  pipeline_ = pipeline;
}

void MetalQueue::encoded() {
  if (++open_->size >= kLongestBatch) commit();
}
void MetalQueue::encoded(const runtime::KernelName& name) {
  open_->names.add(name);
  encoded();
}

void MetalQueue::signal(MetalEvent& event) {
  end_encoder();
  open();
  api_.signal_event(open_->commands.get(), event.event.get(), ++event.value);
  event.batch = open_;
  commit();  // another queue, or the host, may wait for this point
}

void MetalQueue::wait_for(const MetalEvent& event) {
  end_encoder();
  open();
  api_.wait_for_event(open_->commands.get(), event.event.get(), event.value);
  ++open_->size;
}

void MetalQueue::commit() {
  if (!open_) return;
  end_encoder();
  api_.commit(open_->commands.get());
  running_.push_back(std::move(open_));
  open_.reset();
  if (running_.size() < kMostRunning) return;
  while (!running_.empty() && is_done(api_, *running_.front())) settle_first();
}

void MetalQueue::settle_first() {
  const std::shared_ptr<Batch> batch = std::move(running_.front());
  running_.pop_front();
  if (api_.status(batch->commands.get()) == kError) {
    const Pool pool(api_);
    const Error error =
        command_failure(api_, api_.command_error(batch->commands.get()), batch->names.text());
    failure_ = failure_ ? failure_->with_others({error}) : error;
  }
  if (batch.use_count() > 1) return;  // an event may ask for its times
  batch->commands.reset();
  batch->names.clear();
  batch->size = 0;
  spare_.push_back(batch);
}

void MetalQueue::finish() {
  commit();
  if (!running_.empty()) api_.wait_until_completed(running_.back()->commands.get());
  while (!running_.empty()) settle_first();
  const std::optional<Error> failed = std::exchange(failure_, std::nullopt);
  if (failed) throw Error(*failed);
}

bool MetalQueue::is_idle() const {
  return !open_ && (running_.empty() || is_done(api_, *running_.back()));
}

}  // namespace salvo::backends::metal
