// Launches of kernels.

#include <array>
#include <cstring>

#include "command_queue.h"
#include "grid.h"
#include "library.h"

namespace sim {
namespace compute_methods {

constexpr size_t kMostBuffers = 31;
constexpr size_t kMostBytes = 4096;         // of setBytes:length:atIndex:
constexpr size_t kGroupAlignment = 16;      // of threadgroup memory
constexpr size_t kConstantAlignment = 256;  // of offsets of constant memory, on other devices than Apple's

// What is bound at an index: a buffer, or bytes that were copied.
struct Slot {
  std::shared_ptr<Buffer> buffer;
  std::vector<char> bytes;
  size_t offset = 0;

  size_t length() const { return buffer ? buffer->length - offset : bytes.size(); }
};

struct ComputeEncoder : Encoder {
  explicit ComputeEncoder(std::shared_ptr<CommandBuffer> buffer)
      : Encoder(class_of("MTLComputeCommandEncoder"), std::move(buffer)) {}

  std::shared_ptr<Pipeline> pipeline;
  std::array<Slot, kMostBuffers> slots;
  std::array<size_t, kMostBuffers> group_lengths{};
};

// A launch with all that it needs, as it was when it was encoded.
struct Launch {
  const tidepool_metal_kernel* code;
  Grid grid;
  std::vector<Slot> slots;            // of the parameters
  std::vector<size_t> group_offsets;  // of the parameters

  int run() {
    std::vector<void*> arguments;
    for (unsigned i = 0; i < code->kernel.parameters; i++) {
      Slot& slot = slots[i];
      if (slot.buffer && !slot.buffer->memory->is_mapped()) {
        violation("kernel %s uses memory of the program that was unmapped", code->kernel.name);
        return MTLCommandBufferErrorPageFault;
      }
      void* group = reinterpret_cast<void*>(group_offsets[i]);
      arguments.push_back(code->bindings[i].kind != TIDEPOOL_BUFFER ? group
                          : slot.buffer                             ? slot.buffer->on_device() + slot.offset
                                                                    : slot.bytes.data());
    }
    sim::run(code->kernel, arguments.data(), grid);
    return MTLCommandBufferErrorNone;
  }
};

// What is bound for a parameter that is a buffer; whether that fits.
bool bind(const ComputeEncoder& self, unsigned parameter, Launch& launch, const char* message) {
  const tidepool_binding& binding = launch.code->bindings[parameter];
  const tidepool_parameter& type = launch.code->types[parameter];
  const char* kernel = launch.code->kernel.name;
  const Slot* slot = binding.index < kMostBuffers ? &self.slots[binding.index] : nullptr;
  if (slot == nullptr || (!slot->buffer && slot->bytes.empty())) {
    if (!binding.is_used) {
      return true;
    }
    violation("%s: nothing is bound at index %u for %s of kernel %s", message, binding.index, binding.name,
              kernel);
    return false;
  }
  size_t alignment = type.alignment;
  if (binding.is_constant && self.buffer->queue->device->family >= MTLGPUFamilyMac2) {
    alignment = kConstantAlignment;
  }
  if (slot->offset % alignment != 0) {
    violation("%s: the offset %zu at index %u is not a multiple of %zu, as %s of kernel %s needs", message,
              slot->offset, binding.index, alignment, binding.name, kernel);
    return false;
  }
  if (type.is_reference && slot->length() < type.size) {
    violation("%s: %zu bytes at index %u, where %s of kernel %s has %u", message, slot->length(),
              binding.index, binding.name, kernel, type.size);
    return false;
  }
  launch.slots[parameter] = *slot;
  return true;
}

bool is_empty(MTLSize size) { return size.width == 0 || size.height == 0 || size.depth == 0; }
tidepool_index to_index(MTLSize size) {
  return {static_cast<unsigned>(size.width), static_cast<unsigned>(size.height),
          static_cast<unsigned>(size.depth)};
}

// Whether pipeline, sizes, buffers and threadgroup memory fit together; else a violation.
bool prepare(const ComputeEncoder& self, MTLSize threads, Launch& launch, const char* message) {
  const Device& device = *self.buffer->queue->device;
  const Pipeline& pipeline = *self.pipeline;
  const char* name = pipeline.code->kernel.name;
  NSUInteger in_group = threads.width * threads.height * threads.depth;
  if (in_group > pipeline.most_threads()) {
    violation("%s: %lu threads in a threadgroup, where kernel %s can have %zu", message, in_group, name,
              pipeline.most_threads());
    return false;
  }
  launch.code = pipeline.code;
  launch.slots.resize(launch.code->kernel.parameters);
  launch.group_offsets.resize(launch.code->kernel.parameters);
  size_t group_bytes = 0;
  for (unsigned i = 0; i < launch.code->kernel.parameters; i++) {
    const tidepool_binding& binding = launch.code->bindings[i];
    if (binding.kind == TIDEPOOL_BUFFER && !bind(self, i, launch, message)) {
      return false;
    }
    if (binding.kind == TIDEPOOL_THREADGROUP_MEMORY) {
      size_t length = binding.index < kMostBuffers ? self.group_lengths[binding.index] : 0;
      if (length < launch.code->types[i].size && binding.is_used) {
        violation("%s: %zu bytes of threadgroup memory at index %u for %s of kernel %s", message, length,
                  binding.index, binding.name, name);
        return false;
      }
      launch.group_offsets[i] = group_bytes;
      group_bytes += length;
    }
  }
  if (group_bytes + launch.code->group_bytes > device.group_memory) {
    violation("%s: %zu bytes of threadgroup memory, where the device has %zu", message,
              group_bytes + launch.code->group_bytes, device.group_memory.load());
    return false;
  }
  launch.grid.shared_bytes = static_cast<unsigned>(group_bytes);
  launch.grid.flush_subnormals = !device.subnormals;
  return true;
}

void dispatch(ComputeEncoder& self, MTLSize groups, MTLSize threads, MTLSize extent, const char* message) {
  CommandBuffer& commands = *self.buffer;
  if (!self.is_open(message)) {
    return;
  }
  if (!self.pipeline) {
    violation("%s: no pipeline is set", message);
    commands.broken = MTLCommandBufferErrorInvalidResource;
    return;
  }
  auto launch = std::make_shared<Launch>();
  bool is_none = is_empty(groups) || is_empty(threads);
  if (is_none) {
    violation("%s: a size of 0", message);
  }
  if (is_none || !prepare(self, threads, *launch, message)) {
    commands.broken = MTLCommandBufferErrorInvalidResource;
    return;
  }
  launch->grid.blocks = to_index(groups);
  launch->grid.threads = to_index(threads);
  launch->grid.extent = to_index(extent);
  commands.keep(self.pipeline);
  for (const Slot& slot : launch->slots) {
    if (slot.buffer) {
      commands.use(slot.buffer);
    }
  }
  commands.commands.push_back([launch] { return launch->run(); });
}

Autoreleased open(CommandBuffer& buffer, const char* message) {
  return open_encoder(buffer, message, [](std::shared_ptr<CommandBuffer> commands) {
    return std::make_shared<ComputeEncoder>(std::move(commands));
  });
}
Autoreleased compute_encoder(CommandBuffer& self) { return open(self, "computeCommandEncoder"); }
// Commands of a concurrent encoder are carried out one after another too.
Autoreleased compute_encoder_of_type(CommandBuffer& self, NSUInteger) {
  return open(self, "computeCommandEncoderWithDispatchType:");
}

METHOD("MTLCommandBuffer", "computeCommandEncoder", compute_encoder)
METHOD("MTLCommandBuffer", "computeCommandEncoderWithDispatchType:", compute_encoder_of_type)

void set_pipeline(ComputeEncoder& self, Ref<Pipeline> pipeline) {
  constexpr const char* kMessage = "setComputePipelineState:";
  if (self.is_open(kMessage)) {
    if (!pipeline || pipeline->device != self.buffer->queue->device) {
      violation("%s: no pipeline, or one of another device", kMessage);
      return;
    }
    self.pipeline = pipeline;
  }
}

bool check_index(const Encoder& self, NSUInteger index, const char* message) {
  if (index >= kMostBuffers) {
    violation("%s: index %lu of %s; there are %zu", message, index, self.type.name, kMostBuffers);
  }
  return index < kMostBuffers;
}

void set_buffer(ComputeEncoder& self, Ref<Buffer> buffer, NSUInteger offset, NSUInteger index) {
  constexpr const char* kMessage = "setBuffer:offset:atIndex:";
  if (!self.is_open(kMessage) || !check_index(self, index, kMessage)) {
    return;
  }
  if (!buffer) {
    self.slots[index] = {};
    return;
  }
  if (offset >= buffer->length) {
    violation("%s: offset %lu of %s", kMessage, offset, buffer->describe().c_str());
    return;
  }
  if (check_buffer(*self.buffer, buffer, kMessage)) {
    self.slots[index] = {buffer, {}, offset};
  }
}

void set_buffer_offset(ComputeEncoder& self, NSUInteger offset, NSUInteger index) {
  constexpr const char* kMessage = "setBufferOffset:atIndex:";
  if (self.is_open(kMessage) && check_index(self, index, kMessage)) {
    Slot& slot = self.slots[index];
    if (!slot.buffer || offset >= slot.buffer->length) {
      violation("%s: offset %lu, where %s is bound", kMessage, offset,
                slot.buffer ? slot.buffer->describe().c_str() : "no buffer");
      return;
    }
    slot.offset = offset;
  }
}

void set_bytes(ComputeEncoder& self, const void* bytes, NSUInteger length, NSUInteger index) {
  constexpr const char* kMessage = "setBytes:length:atIndex:";
  if (!self.is_open(kMessage) || !check_index(self, index, kMessage)) {
    return;
  }
  if (bytes == nullptr || length == 0 || length > kMostBytes) {
    violation("%s: %lu bytes, where at most %zu are copied; use a buffer", kMessage, length, kMostBytes);
    return;
  }
  auto* first = static_cast<const char*>(bytes);
  self.slots[index] = {nullptr, {first, first + length}, 0};
}

void set_group_length(ComputeEncoder& self, NSUInteger length, NSUInteger index) {
  constexpr const char* kMessage = "setThreadgroupMemoryLength:atIndex:";
  if (self.is_open(kMessage) && check_index(self, index, kMessage)) {
    if (length % kGroupAlignment != 0) {
      violation("%s: %lu, which is not a multiple of %zu", kMessage, length, kGroupAlignment);
      return;
    }
    self.group_lengths[index] = length;
  }
}

void dispatch_threads(ComputeEncoder& self, MTLSize threads, MTLSize in_group) {
  constexpr const char* kMessage = "dispatchThreads:threadsPerThreadgroup:";
  auto groups = [](NSUInteger all, NSUInteger each) { return each == 0 ? 0 : (all + each - 1) / each; };
  MTLSize count = {groups(threads.width, in_group.width), groups(threads.height, in_group.height),
                   groups(threads.depth, in_group.depth)};
  dispatch(self, count, in_group, threads, kMessage);
}

void dispatch_groups(ComputeEncoder& self, MTLSize groups, MTLSize in_group) {
  dispatch(self, groups, in_group, {0, 0, 0}, "dispatchThreadgroups:threadsPerThreadgroup:");
}

void memory_barrier(ComputeEncoder& self, NSUInteger) { self.is_open("memoryBarrierWithScope:"); }

void use_resource(ComputeEncoder& self, Ref<Buffer> buffer, NSUInteger) {
  constexpr const char* kMessage = "useResource:usage:";
  if (self.is_open(kMessage) && check_buffer(*self.buffer, buffer, kMessage)) {
    self.buffer->use(buffer);
  }
}

METHOD("MTLComputeCommandEncoder", "setComputePipelineState:", set_pipeline)
METHOD("MTLComputeCommandEncoder", "setBuffer:offset:atIndex:", set_buffer)
METHOD("MTLComputeCommandEncoder", "setBufferOffset:atIndex:", set_buffer_offset)
METHOD("MTLComputeCommandEncoder", "setBytes:length:atIndex:", set_bytes)
METHOD("MTLComputeCommandEncoder", "setThreadgroupMemoryLength:atIndex:", set_group_length)
METHOD("MTLComputeCommandEncoder", "dispatchThreads:threadsPerThreadgroup:", dispatch_threads)
METHOD("MTLComputeCommandEncoder", "dispatchThreadgroups:threadsPerThreadgroup:", dispatch_groups)
METHOD("MTLComputeCommandEncoder", "memoryBarrierWithScope:", memory_barrier)
METHOD("MTLComputeCommandEncoder", "useResource:usage:", use_resource)

}  // namespace compute_methods
}  // namespace sim
