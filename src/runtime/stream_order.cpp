// Which streams used a block of memory, and the order of the library's own work after them (R7).
// SPDX-License-Identifier: MIT
#include "runtime/stream_order.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace salvo::runtime {

std::uint64_t StreamOrder::add(Queue& queue) {
  Stream stream;
  stream.queue = &queue;
  stream.mark = driver_.make_event();
  if (!default_mark_) default_mark_ = driver_.make_event();
  streams_.emplace(++last_stream_, std::move(stream));
  return last_stream_;
}

void StreamOrder::use(std::uint64_t stream, StreamUses& uses, bool writes, std::uint64_t upload) {
  Stream& one = streams_.at(stream);
  if (upload > one.seen_uploads) {
    driver_.record(driver_.queue(), *default_mark_);
    driver_.wait(*one.queue, *default_mark_);
    one.seen_uploads = uploads_;
  }
  const std::uint64_t position = ++one.position;
  one.unsubmitted = true;
  const auto known = std::ranges::find(uses, stream, &StreamUse::stream);
  if (known == uses.end()) {
    uses.push_back({stream, position, writes});
  } else {
    *known = {stream, position, known->writes || writes};
  }
}

void StreamOrder::order_default_after(StreamUses& uses, bool only_writes) {
  std::erase_if(uses, [&](const StreamUse& use) {
    const auto found = streams_.find(use.stream);
    if (found == streams_.end()) return true;  // it was waited for when it was destroyed
    Stream& one = found->second;
    if (use.position <= one.joined) return true;
    if (only_writes && !use.writes) return false;
    driver_.record(*one.queue, *one.mark);
    driver_.wait(driver_.queue(), *one.mark);
    one.joined = one.position;
    return true;
  });
}

void StreamOrder::submit_all() {
  for (auto& [name, stream] : streams_) {
    if (std::exchange(stream.unsubmitted, false)) driver_.submit(*stream.queue);
  }
}

void StreamOrder::finish_all() {
  submit_all();  // all of them start before the first is waited for
  std::exception_ptr failure;
  const auto finish = [&](Queue& queue) {
    try {
      driver_.finish(queue);
    } catch (...) {
      if (!failure) failure = std::current_exception();  // the others are waited for all the same
    }
  };
  for (auto& [name, stream] : streams_) finish(*stream.queue);
  finish(driver_.queue());
  if (failure) std::rethrow_exception(failure);
}

}  // namespace salvo::runtime
