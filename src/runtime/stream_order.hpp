// Which streams used a block of memory, and the order of the library's own work after them (R7).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/backend.hpp"

namespace salvo::runtime {

/// A stream's latest work on a block of memory.
struct StreamUse {
  std::uint64_t stream = 0;
  std::uint64_t position = 0;  // of the work in its stream
  bool writes = false;         // that, or something before it
};
using StreamUses = std::vector<StreamUse>;

/// The streams of one device. User work is ordered by the user's events alone; what the library
/// does on the default queue for vectors that streams used comes after those uses, and streams come
/// after the library's uploads. An order once made is not made again, so that a stream that works
/// on its own records no event. Guarded by the device's issue lock.
class StreamOrder {
 public:
  explicit StreamOrder(DeviceDriver& driver) : driver_(driver) {}

  /// A new stream's name, never used again. The queue stays until `remove`.
  std::uint64_t add(Queue& queue);
  /// The stream's work has finished.
  void remove(std::uint64_t stream) noexcept { streams_.erase(stream); }

  /// Notes that the next work of `stream` uses a block whose latest upload is number `upload`, and
  /// makes the stream wait for uploads that it has not seen. Called before the work is queued.
  void use(std::uint64_t stream, StreamUses& uses, bool writes, std::uint64_t upload);
  /// The default queue's later work comes after the uses, or after those that write alone.
  void order_default_after(StreamUses& uses, bool only_writes);
  /// Numbers an upload that was put in the default queue.
  std::uint64_t next_upload() noexcept { return ++uploads_; }
  /// Makes the device start on what streams were given since the last time.
  void submit_all();
  /// Waits for the default queue and every stream.
  void finish_all();

 private:
  struct Stream {
    Queue* queue = nullptr;
    std::unique_ptr<Event> mark;     // in its own queue, for the default queue to wait for
    std::uint64_t position = 0;      // of its latest work
    std::uint64_t joined = 0;        // the default queue comes after its work up to here
    std::uint64_t seen_uploads = 0;  // it comes after the uploads up to here
    bool unsubmitted = false;
  };

  DeviceDriver& driver_;
  std::map<std::uint64_t, Stream> streams_;
  std::unique_ptr<Event> default_mark_;
  std::uint64_t last_stream_ = 0;
  std::uint64_t uploads_ = 0;
};

}  // namespace salvo::runtime
