#include "device.h"

#include <algorithm>
#include <thread>

namespace sim {

std::atomic<bool> headless{false};

namespace {

struct Devices {
  std::mutex lock;
  std::vector<std::shared_ptr<Device>> all;
};

Devices& all_devices() {
  static Devices& instance = *new Devices;
  return instance;
}

}  // namespace

Device::Device(int ordinal)
    : Object(class_of("MTLDevice")),
      ordinal(ordinal),
      name("Simulated Apple GPU " + std::to_string(ordinal)) {}

bool Device::allocate(size_t bytes) {
  if (++resources > most_resources) {
    resources--;
    note("device %d has %ld resources, which is the most it can have", ordinal, most_resources.load());
    return false;
  }
  if (used.fetch_add(bytes) + bytes > memory) {
    used -= bytes;
    resources--;
    return false;
  }
  if (used > working_set_size()) {
    note("device %d has %zu bytes, more than its recommended working set of %zu", ordinal, used.load(),
         working_set_size());
  }
  return true;
}

void Device::free(size_t bytes) {
  used -= bytes;
  resources--;
}

namespace {

// A sleep lasts about so long, however short it was to be.
constexpr std::chrono::microseconds kSleep{50};

thread_local Clock::time_point owed;

}  // namespace

void Device::take_time(size_t bytes, Clock::time_point start) {
  Clock::time_point end = start + std::chrono::nanoseconds(latency.load());
  if (int64_t rate = bandwidth; rate > 0 && bytes > 0) {
    auto duration = std::chrono::nanoseconds(
        static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(rate)));
    std::lock_guard guard(link_lock_);
    end = std::max(end, link_free_) + duration;
    link_free_ = end;
  }
  owed = end;
  if (bytes == 0 || end - Clock::now() > kSleep) {
    pay_time();
  }
}

void Device::pay_time() { std::this_thread::sleep_until(owed); }

std::vector<std::shared_ptr<Device>> devices() {
  configure_once();
  std::lock_guard guard(all_devices().lock);
  return all_devices().all;
}

void make_devices(int count) {
  std::vector<std::shared_ptr<Device>> made;
  for (int ordinal = 0; ordinal < count; ordinal++) {
    made.push_back(std::make_shared<Device>(ordinal));
    registry().constant(made.back());
  }
  std::lock_guard guard(all_devices().lock);
  all_devices().all.swap(made);
}

namespace device_methods {

Borrowed name(Device& self) { return {self.name.handle()}; }
NSUInteger registry_id(Device& self) { return 0x100000300 + static_cast<NSUInteger>(self.ordinal); }
NSUInteger location(Device& self) {
  return self.removable ? MTLDeviceLocationExternal
         : self.unified ? MTLDeviceLocationBuiltIn
                        : MTLDeviceLocationSlot;
}
Bool is_low_power(Device& self) { return {self.low_power}; }
Bool is_removable(Device& self) { return {self.removable}; }
Bool is_headless(Device&) { return {headless}; }
Bool has_unified_memory(Device& self) { return {self.unified}; }
NSUInteger max_buffer_length(Device& self) { return self.longest_buffer(); }
NSUInteger recommended_working_set(Device& self) { return self.working_set_size(); }
NSUInteger current_allocated(Device& self) { return self.used; }
NSUInteger max_transfer_rate(Device& self) {
  return self.unified ? 0 : static_cast<NSUInteger>(self.bandwidth.load());
}
MTLSize max_threads(Device& self) {
  NSUInteger most = self.threads_per_group;
  return {most, most, most};
}
NSUInteger max_group_memory(Device& self) { return self.group_memory; }

// Each family of Apple's GPUs has what those before it have; the others are not ordered.
Bool supports_family(Device& self, NSInteger family) {
  bool apple = self.family >= MTLGPUFamilyApple1 && self.family < MTLGPUFamilyMac2;
  return {(apple && family >= MTLGPUFamilyApple1 && family <= self.family) || family == MTLGPUFamilyMac2 ||
          (family >= MTLGPUFamilyCommon1 && family <= MTLGPUFamilyCommon3) || family == MTLGPUFamilyMetal3};
}

// No device is linked with another.
NSUInteger peer_group(Device&) { return 0; }
unsigned peer_index(Device&) { return 0; }
unsigned peer_count(Device&) { return 0; }

METHOD("MTLDevice", "name", name)
METHOD("MTLDevice", "registryID", registry_id)
METHOD("MTLDevice", "location", location)
METHOD("MTLDevice", "isLowPower", is_low_power)
METHOD("MTLDevice", "isRemovable", is_removable)
METHOD("MTLDevice", "isHeadless", is_headless)
METHOD("MTLDevice", "hasUnifiedMemory", has_unified_memory)
METHOD("MTLDevice", "maxBufferLength", max_buffer_length)
METHOD("MTLDevice", "recommendedMaxWorkingSetSize", recommended_working_set)
METHOD("MTLDevice", "currentAllocatedSize", current_allocated)
METHOD("MTLDevice", "maxTransferRate", max_transfer_rate)
METHOD("MTLDevice", "maxThreadsPerThreadgroup", max_threads)
METHOD("MTLDevice", "maxThreadgroupMemoryLength", max_group_memory)
METHOD("MTLDevice", "supportsFamily:", supports_family)
METHOD("MTLDevice", "peerGroupID", peer_group)
METHOD("MTLDevice", "peerIndex", peer_index)
METHOD("MTLDevice", "peerCount", peer_count)

}  // namespace device_methods
}  // namespace sim

using namespace sim;

EXPORT id MTLCreateSystemDefaultDevice(void) {
  static Function& counted = function(__func__);
  if (count_message(counted, true) != 0 || devices().empty() || headless) {
    return nullptr;
  }
  id handle = devices().front()->handle;
  registry().retain(handle, __func__);
  return handle;
}

EXPORT id MTLCopyAllDevices(void) {
  static Function& counted = function(__func__);
  if (count_message(counted, true) != 0) {
    return nullptr;
  }
  std::vector<id> handles;
  for (const auto& device : devices()) {
    if (!headless) {
      handles.push_back(device->handle);
    }
  }
  return registry().own(std::make_shared<Array>(handles));
}
