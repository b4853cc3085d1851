// Queues and events of a device of the family: streams and events of its driver.
// SPDX-License-Identifier: MIT
#include "backends/cuda_family/cuda_family_queue.hpp"

#include <algorithm>

namespace salvo::backends::cuda_family {

FamilyQueue::FamilyQueue(const Reporter& reporter, Context context, int priority)
    : reporter_(reporter), context_(context) {
  const Current current(reporter_, context_);
  int least = 0;
  int greatest = 0;
  reporter_.check(reporter_.api().StreamPriorities(&least, &greatest),
                  "cuCtxGetStreamPriorityRange", Errc::launch_failed);
  // In CUDA the more urgent streams have the lower numbers.
  reporter_.check(reporter_.api().StreamCreate(&stream_, kStreamNonBlocking,
                                               std::clamp(-priority, greatest, least)),
                  "cuStreamCreateWithPriority", Errc::launch_failed);
}

FamilyQueue::FamilyQueue(const Reporter& reporter, Context context, Stream stream)
    : reporter_(reporter), context_(context), stream_(stream), owned_(false) {}

FamilyQueue::~FamilyQueue() {
  if (!owned_) return;
  const Current current(reporter_, context_);
  reporter_.api().StreamDestroy(stream_);
}

FamilyEvent::FamilyEvent(const Reporter& reporter, Context context)
    : reporter_(reporter), context_(context) {
  const Current current(reporter_, context_);
  reporter_.check(reporter_.api().EventCreate(&event_, 0), "cuEventCreate", Errc::launch_failed);
}

FamilyEvent::~FamilyEvent() {
  const Current current(reporter_, context_);
  reporter_.api().EventDestroy(event_);
}

}  // namespace salvo::backends::cuda_family
