#include "buffer.h"

#include <sys/mman.h>

#include <cstring>

namespace sim {
namespace {

constexpr size_t kHeapAlignment = 256;

char* map(size_t size) {
  void* bytes =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return bytes == MAP_FAILED ? nullptr : static_cast<char*>(bytes);
}

const char* storage_name(NSUInteger storage) {
  constexpr const char* kNames[] = {"shared", "managed", "private", "memoryless"};
  return storage < 4 ? kNames[storage] : "unknown";
}

NSUInteger storage_of(NSUInteger options) { return options >> 4 & 0xF; }
NSUInteger cache_mode_of(NSUInteger options) { return options & 0xF; }
NSUInteger hazard_mode_of(NSUInteger options) { return options >> 8 & 0x3; }

// What is wrong with the options of a buffer is a violation.
bool check_options(NSUInteger options, const char* message) {
  if (storage_of(options) > MTLStorageModePrivate || cache_mode_of(options) > MTLCPUCacheModeWriteCombined ||
      hazard_mode_of(options) > MTLHazardTrackingModeTracked || options >> 10 != 0) {
    violation("%s: resource options %#lx are none of a buffer", message, options);
    return false;
  }
  return true;
}

bool check_length(const Device& device, size_t length, const char* message) {
  if (length == 0 || length > device.longest_buffer()) {
    violation("%s: a length of %zu, where maxBufferLength is %zu", message, length, device.longest_buffer());
    return false;
  }
  return true;
}

}  // namespace

std::shared_ptr<Memory> Memory::allocate(std::shared_ptr<Device> device, size_t size, NSUInteger storage) {
  size_t rounded = up_to(size, kPage);
  if (!device->allocate(rounded)) {
    return nullptr;
  }
  std::shared_ptr<Memory> memory(new Memory(device, rounded, storage, false));
  memory->on_device = map(rounded);
  memory->on_host = storage == MTLStorageModePrivate                       ? nullptr
                    : storage == MTLStorageModeManaged && !device->unified ? map(rounded)
                                                                           : memory->on_device;
  bool there =
      memory->on_device != nullptr && (storage == MTLStorageModePrivate || memory->on_host != nullptr);
  return there ? memory : nullptr;
}

std::shared_ptr<Memory> Memory::wrap(std::shared_ptr<Device> device, void* bytes, size_t size) {
  if (!device->allocate(0)) {
    return nullptr;
  }
  std::shared_ptr<Memory> memory(new Memory(device, size, MTLStorageModeShared, true));
  memory->on_device = memory->on_host = static_cast<char*>(bytes);
  return memory;
}

Memory::~Memory() {
  if (!of_program) {
    if (on_host != nullptr && on_host != on_device) {
      munmap(on_host, size);
    }
    if (on_device != nullptr) {
      munmap(on_device, size);
    }
  }
  device_->free(of_program ? 0 : size);
}

bool Memory::is_mapped() const { return !of_program || msync(on_device, size, MS_ASYNC) == 0; }

// Gives parts of its memory to buffers, the first that fits.
struct Heap : Labelled {
  Heap(std::shared_ptr<Device> device, std::shared_ptr<Memory> memory, size_t size, NSUInteger options)
      : Labelled(class_of("MTLHeap")),
        device(std::move(device)),
        memory(std::move(memory)),
        size(size),
        options(options) {}
  std::string describe() const override { return "MTLHeap of " + std::to_string(size) + " bytes"; }

  // An offset; SIZE_MAX where nothing fits.
  size_t take(size_t length) {
    std::lock_guard guard(lock);
    size_t at = 0;
    for (const auto& [start, taken] : parts) {
      if (start - at >= length) {
        break;
      }
      at = start + taken;
    }
    if (length > size || at > size - length) {
      return SIZE_MAX;
    }
    parts[at] = length;
    return at;
  }

  void give_back(size_t offset) {
    std::lock_guard guard(lock);
    parts.erase(offset);
  }

  size_t used() {
    std::lock_guard guard(lock);
    size_t sum = 0;
    for (const auto& [start, taken] : parts) {
      sum += taken;
    }
    return sum;
  }

  size_t longest_free() {
    std::lock_guard guard(lock);
    size_t longest = 0;
    size_t at = 0;
    for (const auto& [start, taken] : parts) {
      longest = std::max(longest, start - at);
      at = start + taken;
    }
    return std::max(longest, size - at);
  }

  const std::shared_ptr<Device> device;
  const std::shared_ptr<Memory> memory;
  const size_t size;
  const NSUInteger options;
  std::mutex lock;
  std::map<size_t, size_t> parts;  // offset, length
};

Buffer::Buffer(std::shared_ptr<Device> device, std::shared_ptr<Memory> memory, size_t offset, size_t length,
               NSUInteger options, std::shared_ptr<Heap> heap)
    : Labelled(class_of("MTLBuffer")),
      device(std::move(device)),
      memory(std::move(memory)),
      offset(offset),
      length(length),
      options(options),
      heap(std::move(heap)) {}

void Buffer::end() {
  if (memory->uses > 0 && !heap) {
    violation("%s was released while commands use it that do not retain it", describe().c_str());
  }
  if (!memory->is_mapped()) {
    violation("the memory of %s was unmapped before the buffer was released", describe().c_str());
  }
  if (heap) {
    heap->give_back(offset);
  }
}

std::string Buffer::describe() const {
  return "MTLBuffer of " + std::to_string(length) + " bytes, " + storage_name(storage_of(options)) +
         (memory->of_program ? ", without a copy" : "") + ", on device " + std::to_string(device->ordinal);
}

namespace buffer_methods {

std::shared_ptr<Device> shared(Device& device) {
  return std::static_pointer_cast<Device>(device.shared_from_this());
}

std::shared_ptr<Buffer> make_buffer(Device& device, size_t length, NSUInteger options, const char* message) {
  if (!check_options(options, message) || !check_length(device, length, message)) {
    return nullptr;
  }
  std::shared_ptr<Memory> memory = Memory::allocate(shared(device), length, storage_of(options));
  return memory ? std::make_shared<Buffer>(shared(device), memory, 0, length, options, nullptr) : nullptr;
}

Owned new_buffer(Device& self, NSUInteger length, NSUInteger options) {
  return {make_buffer(self, length, options, "newBufferWithLength:options:")};
}

Owned new_buffer_with_bytes(Device& self, const void* bytes, NSUInteger length, NSUInteger options) {
  constexpr const char* kMessage = "newBufferWithBytes:length:options:";
  if (bytes == nullptr || storage_of(options) == MTLStorageModePrivate) {
    violation("%s: needs bytes, and a storage mode that the host can write", kMessage);
    return {nullptr};
  }
  std::shared_ptr<Buffer> made = make_buffer(self, length, options, kMessage);
  if (made) {
    memcpy(made->on_host(), bytes, length);
    memcpy(made->on_device(), bytes, length);
  }
  return {made};
}

Owned new_buffer_without_copy(Device& self, void* bytes, NSUInteger length, NSUInteger options,
                              Block deallocator) {
  constexpr const char* kMessage = "newBufferWithBytesNoCopy:length:options:deallocator:";
  if (deallocator.code != nullptr) {
    violation("%s: the simulated Metal calls no blocks", kMessage);
    return {nullptr};
  }
  if (!check_options(options, kMessage) || !check_length(self, length, kMessage)) {
    return {nullptr};
  }
  if (storage_of(options) != MTLStorageModeShared &&
      !(storage_of(options) == MTLStorageModeManaged && self.unified)) {
    violation("%s: %s storage", kMessage, storage_name(storage_of(options)));
    return {nullptr};
  }
  if (bytes == nullptr || reinterpret_cast<uintptr_t>(bytes) % kPage != 0 || length % kPage != 0) {
    violation("%s: %p and %lu bytes are not aligned to pages of %zu", kMessage, bytes, length, kPage);
    return {nullptr};
  }
  std::shared_ptr<Memory> memory = Memory::wrap(shared(self), bytes, length);
  if (memory && !memory->is_mapped()) {
    violation("%s: %p and %lu bytes are not mapped", kMessage, bytes, length);
    return {nullptr};
  }
  return {memory ? std::make_shared<Buffer>(shared(self), memory, 0, length, options, nullptr) : nullptr};
}

METHOD("MTLDevice", "newBufferWithLength:options:", new_buffer)
METHOD("MTLDevice", "newBufferWithBytes:length:options:", new_buffer_with_bytes)
METHOD("MTLDevice", "newBufferWithBytesNoCopy:length:options:deallocator:", new_buffer_without_copy)

Borrowed device(Buffer& self) { return {self.device->handle}; }
NSUInteger storage_mode(Buffer& self) { return storage_of(self.options); }
NSUInteger cpu_cache_mode(Buffer& self) { return cache_mode_of(self.options); }
NSUInteger hazard_mode(Buffer& self) {
  NSUInteger mode = hazard_mode_of(self.options);
  // Buffers of a heap are not tracked unless it says so.
  return mode != MTLHazardTrackingModeDefault ? mode
         : self.heap                          ? MTLHazardTrackingModeUntracked
                                              : MTLHazardTrackingModeTracked;
}
NSUInteger resource_options(Buffer& self) { return self.options; }
NSUInteger allocated_size(Buffer& self) {
  return self.heap ? up_to(self.length, kHeapAlignment) : self.memory->size;
}
Borrowed heap(Buffer& self) { return {self.heap ? self.heap->handle : nullptr}; }
NSUInteger heap_offset(Buffer& self) { return self.offset; }
NSUInteger set_purgeable_state(Buffer&, NSUInteger state) {
  if (state > MTLPurgeableStateNonVolatile) {
    violation("setPurgeableState: %lu; the simulated memory is not purged", state);
  }
  return MTLPurgeableStateNonVolatile;
}
Borrowed label(Labelled& self) { return {self.label.handle()}; }
void set_label(Labelled& self, Ref<String> label) { self.label.set(label ? label->text : ""); }

METHOD("MTLResource", "device", device)
METHOD("MTLResource", "label", label)
METHOD("MTLResource", "setLabel:", set_label)
METHOD("MTLResource", "storageMode", storage_mode)
METHOD("MTLResource", "cpuCacheMode", cpu_cache_mode)
METHOD("MTLResource", "hazardTrackingMode", hazard_mode)
METHOD("MTLResource", "resourceOptions", resource_options)
METHOD("MTLResource", "allocatedSize", allocated_size)
METHOD("MTLResource", "heap", heap)
METHOD("MTLResource", "heapOffset", heap_offset)
METHOD("MTLResource", "setPurgeableState:", set_purgeable_state)

NSUInteger length(Buffer& self) { return self.length; }
void* contents(Buffer& self) {
  if (self.on_host() == nullptr) {
    violation("contents of %s: the host has no access", self.describe().c_str());
  }
  return self.on_host();
}
void did_modify(Buffer& self, NSRange range) {
  if (storage_of(self.options) != MTLStorageModeManaged || range.location > self.length ||
      range.length > self.length - range.location) {
    violation("didModifyRange: %lu bytes at %lu of %s", range.length, range.location,
              self.describe().c_str());
    return;
  }
  if (self.on_host() != self.on_device()) {
    memcpy(self.on_device() + range.location, self.on_host() + range.location, range.length);
  }
}
NSUInteger gpu_address(Buffer& self) { return reinterpret_cast<NSUInteger>(self.on_device()) | 1UL << 60; }

METHOD("MTLBuffer", "length", length)
METHOD("MTLBuffer", "contents", contents)
METHOD("MTLBuffer", "didModifyRange:", did_modify)
METHOD_SINCE("MTLBuffer", "gpuAddress", gpu_address, 13)

struct HeapDescriptor : Object {
  HeapDescriptor() : Object(class_of("MTLHeapDescriptor")) {}
  NSUInteger size = 0;
  NSUInteger options = MTLResourceStorageModePrivate;
};

NSUInteger descriptor_size(HeapDescriptor& self) { return self.size; }
void set_size(HeapDescriptor& self, NSUInteger size) { self.size = size; }
void set_storage_mode(HeapDescriptor& self, NSUInteger mode) {
  self.options = (self.options & ~0xF0UL) | mode << 4;
}
void set_cache_mode(HeapDescriptor& self, NSUInteger mode) { self.options = (self.options & ~0xFUL) | mode; }
void set_hazard_mode(HeapDescriptor& self, NSUInteger mode) {
  self.options = (self.options & ~0x300UL) | mode << 8;
}
void set_resource_options(HeapDescriptor& self, NSUInteger options) { self.options = options; }

METHOD("MTLHeapDescriptor", "size", descriptor_size)
METHOD("MTLHeapDescriptor", "setSize:", set_size)
METHOD("MTLHeapDescriptor", "setStorageMode:", set_storage_mode)
METHOD("MTLHeapDescriptor", "setCpuCacheMode:", set_cache_mode)
METHOD("MTLHeapDescriptor", "setHazardTrackingMode:", set_hazard_mode)
METHOD("MTLHeapDescriptor", "setResourceOptions:", set_resource_options)

MTLSizeAndAlign heap_size_and_align(Device&, NSUInteger length, NSUInteger) {
  return {up_to(length, kHeapAlignment), kHeapAlignment};
}

Owned new_heap(Device& self, Ref<HeapDescriptor> descriptor) {
  constexpr const char* kMessage = "newHeapWithDescriptor:";
  if (!descriptor || descriptor->size == 0 || !check_options(descriptor->options, kMessage) ||
      storage_of(descriptor->options) == MTLStorageModeManaged) {
    violation("%s: needs a size, and shared or private storage", kMessage);
    return {nullptr};
  }
  size_t size = up_to(descriptor->size, kPage);
  std::shared_ptr<Memory> memory = Memory::allocate(shared(self), size, storage_of(descriptor->options));
  return {memory ? std::make_shared<Heap>(shared(self), memory, size, descriptor->options) : nullptr};
}

METHOD("MTLDevice", "heapBufferSizeAndAlignWithLength:options:", heap_size_and_align)
METHOD("MTLDevice", "newHeapWithDescriptor:", new_heap)

Borrowed heap_device(Heap& self) { return {self.device->handle}; }
NSUInteger heap_size(Heap& self) { return self.size; }
NSUInteger heap_used(Heap& self) { return self.used(); }
NSUInteger heap_allocated(Heap& self) { return self.size; }
NSUInteger heap_available(Heap& self, NSUInteger alignment) {
  return alignment > kHeapAlignment ? 0 : self.longest_free();
}

Owned heap_buffer(Heap& self, NSUInteger length, NSUInteger options) {
  constexpr const char* kMessage = "newBufferWithLength:options: of a heap";
  if (!check_options(options, kMessage) || !check_length(*self.device, length, kMessage)) {
    return {nullptr};
  }
  if (storage_of(options) != storage_of(self.options) ||
      cache_mode_of(options) != cache_mode_of(self.options)) {
    violation("%s: options %#lx, where the heap has %#lx", kMessage, options, self.options);
    return {nullptr};
  }
  size_t offset = self.take(up_to(length, kHeapAlignment));
  if (offset == SIZE_MAX) {
    return {nullptr};
  }
  return {std::make_shared<Buffer>(self.device, self.memory, offset, length, options,
                                   std::static_pointer_cast<Heap>(self.shared_from_this()))};
}

METHOD("MTLHeap", "device", heap_device)
METHOD("MTLHeap", "label", label)
METHOD("MTLHeap", "setLabel:", set_label)
METHOD("MTLHeap", "size", heap_size)
METHOD("MTLHeap", "usedSize", heap_used)
METHOD("MTLHeap", "currentAllocatedSize", heap_allocated)
METHOD("MTLHeap", "maxAvailableSizeWithAlignment:", heap_available)
METHOD("MTLHeap", "newBufferWithLength:options:", heap_buffer)

}  // namespace buffer_methods

std::shared_ptr<Object> make_heap_descriptor() { return std::make_shared<buffer_methods::HeapDescriptor>(); }

}  // namespace sim
