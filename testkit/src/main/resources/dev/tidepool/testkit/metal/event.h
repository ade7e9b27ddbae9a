// Events, by which queues wait for each other and for the host, and fences.
#pragma once

#include "command_queue.h"

namespace sim {

struct Event : Labelled {
  Event(std::shared_ptr<Device> device, bool shared)
      : Labelled(class_of(shared ? "MTLSharedEvent" : "MTLEvent")),
        device(std::move(device)),
        shared(shared) {}

  void set(NSUInteger value);
  // Whether the value came within the time; false also when the simulation ends.
  bool wait(NSUInteger value, std::optional<std::chrono::milliseconds> most);

  const std::shared_ptr<Device> device;
  const bool shared;
  std::mutex lock;
  std::condition_variable changed;
  NSUInteger value = 0;
};

struct Fence : Labelled {
  explicit Fence(std::shared_ptr<Device> device)
      : Labelled(class_of("MTLFence")), device(std::move(device)) {}
  const std::shared_ptr<Device> device;
};

}  // namespace sim
