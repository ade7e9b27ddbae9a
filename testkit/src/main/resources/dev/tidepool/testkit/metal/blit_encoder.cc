// Copies and fills.

#include <cstring>

#include "command_queue.h"
#include "event.h"

namespace sim {
namespace blit_methods {

struct BlitEncoder : Encoder {
  explicit BlitEncoder(std::shared_ptr<CommandBuffer> buffer)
      : Encoder(class_of("MTLBlitCommandEncoder"), std::move(buffer)) {}
};

// Whether the range is in the buffer, its ends at multiples of 4.
bool check_range(const Buffer& buffer, size_t offset, size_t size, const char* message) {
  if (offset % 4 != 0 || size % 4 != 0) {
    violation("%s: %zu bytes at %zu; both have to be multiples of 4", message, size, offset);
    return false;
  }
  if (size == 0 || offset > buffer.length || size > buffer.length - offset) {
    violation("%s: %zu bytes at %zu of %s", message, size, offset, buffer.describe().c_str());
    return false;
  }
  return true;
}

// Takes the time of a copy; whether the bytes of the program are still there.
int carry(Device& device, const Memory& memory, size_t bytes) {
  if (!memory.is_mapped()) {
    violation("a command uses memory of the program that was unmapped");
    return MTLCommandBufferErrorPageFault;
  }
  device.take_time(bytes, Clock::now() - std::chrono::nanoseconds(device.latency.load()));
  return MTLCommandBufferErrorNone;
}

Autoreleased blit_encoder(CommandBuffer& self) {
  return open_encoder(self, "blitCommandEncoder", [](std::shared_ptr<CommandBuffer> buffer) {
    return std::make_shared<BlitEncoder>(std::move(buffer));
  });
}

void copy(BlitEncoder& self, Ref<Buffer> source, NSUInteger source_offset, Ref<Buffer> target,
          NSUInteger target_offset, NSUInteger size) {
  constexpr const char* kMessage = "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:";
  CommandBuffer& commands = *self.buffer;
  if (!self.is_open(kMessage)) {
    return;
  }
  bool legal = check_buffer(commands, source, kMessage) && check_buffer(commands, target, kMessage) &&
               check_range(*source, source_offset, size, kMessage) &&
               check_range(*target, target_offset, size, kMessage);
  if (!legal) {
    commands.broken = MTLCommandBufferErrorInvalidResource;
    return;
  }
  const char* from = source->on_device() + source_offset;
  char* to = target->on_device() + target_offset;
  if (from < to + size && to < from + size) {
    violation("%s: the ranges overlap", kMessage);
    commands.broken = MTLCommandBufferErrorInvalidResource;
    return;
  }
  commands.use(source);
  commands.use(target);
  commands.commands.push_back(
      [device = commands.queue->device, read = source->memory, written = target->memory, from, to, size] {
        int code = carry(*device, *read, 0);
        code = code != 0 ? code : carry(*device, *written, size);
        if (code == 0) {
          memcpy(to, from, size);
        }
        return code;
      });
}

void fill(BlitEncoder& self, Ref<Buffer> buffer, NSRange range, unsigned char value) {
  constexpr const char* kMessage = "fillBuffer:range:value:";
  CommandBuffer& commands = *self.buffer;
  if (!self.is_open(kMessage)) {
    return;
  }
  if (!check_buffer(commands, buffer, kMessage) ||
      !check_range(*buffer, range.location, range.length, kMessage)) {
    commands.broken = MTLCommandBufferErrorInvalidResource;
    return;
  }
  commands.use(buffer);
  commands.commands.push_back([device = commands.queue->device, memory = buffer->memory,
                               bytes = buffer->on_device() + range.location, size = range.length, value] {
    int code = carry(*device, *memory, size);
    if (code == 0) {
      memset(bytes, value, size);
    }
    return code;
  });
}

void synchronize(BlitEncoder& self, Ref<Buffer> buffer) {
  constexpr const char* kMessage = "synchronizeResource:";
  CommandBuffer& commands = *self.buffer;
  if (!self.is_open(kMessage) || !check_buffer(commands, buffer, kMessage)) {
    return;
  }
  if (buffer->memory->storage != MTLStorageModeManaged) {
    violation("%s: %s, which is not managed", kMessage, buffer->describe().c_str());
    return;
  }
  commands.use(buffer);
  commands.commands.push_back([device = commands.queue->device, memory = buffer->memory,
                               from = buffer->on_device(), to = buffer->on_host(), size = buffer->length] {
    int code = carry(*device, *memory, size);
    if (code == 0 && from != to) {
      memcpy(to, from, size);
    }
    return code;
  });
}

// The commands of a queue are carried out one after another, so a fence has nothing to do.
void fence(Encoder& self, Ref<Fence> fence, const char* message) {
  if (self.is_open(message) && !fence) {
    violation("%s: no fence", message);
  }
}
void update_fence(Encoder& self, Ref<Fence> which) { fence(self, which, "updateFence:"); }
void wait_for_fence(Encoder& self, Ref<Fence> which) { fence(self, which, "waitForFence:"); }

METHOD("MTLCommandBuffer", "blitCommandEncoder", blit_encoder)
METHOD("MTLBlitCommandEncoder", "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", copy)
METHOD("MTLBlitCommandEncoder", "fillBuffer:range:value:", fill)
METHOD("MTLBlitCommandEncoder", "synchronizeResource:", synchronize)
METHOD("MTLBlitCommandEncoder", "updateFence:", update_fence)
METHOD("MTLBlitCommandEncoder", "waitForFence:", wait_for_fence)
METHOD("MTLComputeCommandEncoder", "updateFence:", update_fence)
METHOD("MTLComputeCommandEncoder", "waitForFence:", wait_for_fence)

}  // namespace blit_methods
}  // namespace sim
