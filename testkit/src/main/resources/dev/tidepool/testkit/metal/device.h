// Devices and their settings. A device lives until the simulation is reset.
#pragma once

#include <chrono>

#include "foundation.h"

namespace sim {

using Clock = std::chrono::steady_clock;

constexpr size_t kPage = 16 << 10;  // of macOS on Apple silicon

inline size_t up_to(size_t size, size_t multiple) { return (size + multiple - 1) / multiple * multiple; }

struct Device : Object {
  explicit Device(int ordinal);
  std::string describe() const override { return "device " + std::to_string(ordinal); }

  size_t working_set_size() const { return working_set != 0 ? working_set.load() : memory / 4 * 3; }
  size_t longest_buffer() const { return max_buffer != 0 ? max_buffer.load() : memory / 2; }

  // Counts bytes and one resource; whether there is room.
  bool allocate(size_t bytes);
  void free(size_t bytes);

  // Waits until that many bytes are through, and the device's latency after `start` is over. What is
  // shorter than a sleep is waited for together with what follows, or by `pay_time`.
  void take_time(size_t bytes, Clock::time_point start);

  // Waits for what the calling thread has not waited for yet.
  static void pay_time();

  const int ordinal;
  OwnString name;
  std::atomic<size_t> memory{size_t{1} << 30};
  std::atomic<size_t> working_set{0};  // 0 for three quarters of the memory
  std::atomic<size_t> max_buffer{0};   // 0 for half the memory
  std::atomic<bool> unified{true};
  std::atomic<bool> low_power{false};
  std::atomic<bool> removable{false};
  std::atomic<NSInteger> family{MTLGPUFamilyApple7};
  std::atomic<size_t> threads_per_group{1024};
  std::atomic<size_t> group_memory{32 << 10};
  std::atomic<long> most_resources{499000};
  std::atomic<bool> subnormals{false};  // kept by kernels
  std::atomic<int64_t> latency{0};      // nanoseconds for each command buffer
  std::atomic<int64_t> bandwidth{0};    // bytes a second of blits; 0 for as fast as the host
  std::atomic<int> lost{0};             // what every command buffer fails with from now on

  std::atomic<size_t> used{0};
  std::atomic<long> resources{0};

 private:
  std::mutex link_lock_;
  Clock::time_point link_free_;
};

// Whether the Mac has no device that programs may have, as without a session on its screen.
extern std::atomic<bool> headless;

std::vector<std::shared_ptr<Device>> devices();
void make_devices(int count);  // in place of those that are

// Makes the devices, unless that was done: one, or what the environment says. In control.cc.
void configure_once();

}  // namespace sim
