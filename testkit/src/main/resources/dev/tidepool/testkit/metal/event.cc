#include "event.h"

namespace sim {

void Event::set(NSUInteger to) {
  std::lock_guard guard(lock);
  if (to < value) {
    violation("an event is set to %lu, below its value of %lu", to, value);
  }
  value = to;
  changed.notify_all();
}

bool Event::wait(NSUInteger until, std::optional<std::chrono::milliseconds> most) {
  constexpr auto kSlice = std::chrono::milliseconds(20);  // the end of the simulation is looked for
  Clock::time_point start = Clock::now();
  std::unique_lock guard(lock);
  while (value < until) {
    if (ending || (most && Clock::now() - start >= *most)) {
      return false;
    }
    changed.wait_for(guard, kSlice);
  }
  return true;
}

namespace event_methods {

std::shared_ptr<Device> shared(Device& device) {
  return std::static_pointer_cast<Device>(device.shared_from_this());
}
Owned new_event(Device& self) { return {std::make_shared<Event>(shared(self), false)}; }
Owned new_shared_event(Device& self) { return {std::make_shared<Event>(shared(self), true)}; }
Owned new_fence(Device& self) { return {std::make_shared<Fence>(shared(self))}; }

METHOD("MTLDevice", "newEvent", new_event)
METHOD("MTLDevice", "newSharedEvent", new_shared_event)
METHOD("MTLDevice", "newFence", new_fence)

Borrowed device(Event& self) { return {self.device->handle}; }
Borrowed label(Labelled& self) { return {self.label.handle()}; }
void set_label(Labelled& self, Ref<String> label) { self.label.set(label ? label->text : ""); }
NSUInteger signaled_value(Event& self) {
  std::lock_guard guard(self.lock);
  return self.value;
}
void set_signaled_value(Event& self, NSUInteger value) { self.set(value); }
Bool wait_until_signaled(Event& self, NSUInteger value, NSUInteger milliseconds) {
  constexpr NSUInteger kAYear = 365UL * 24 * 3600 * 1000;
  return {self.wait(value, std::chrono::milliseconds(std::min(milliseconds, kAYear)))};
}

METHOD("MTLEvent", "device", device)
METHOD("MTLEvent", "label", label)
METHOD("MTLEvent", "setLabel:", set_label)
METHOD("MTLSharedEvent", "signaledValue", signaled_value)
METHOD("MTLSharedEvent", "setSignaledValue:", set_signaled_value)
METHOD_SINCE("MTLSharedEvent", "waitUntilSignaledValue:timeoutMS:", wait_until_signaled, 12)

// Events that are not shared belong to one device.
bool check_event(CommandBuffer& commands, const Ref<Event>& event, const char* message) {
  if (!event || (!event->shared && event->device != commands.queue->device)) {
    violation("%s: no event, or one of another device that is not shared", message);
    return false;
  }
  return commands.can_encode(message);
}

void encode_signal(CommandBuffer& self, Ref<Event> event, NSUInteger value) {
  if (check_event(self, event, "encodeSignalEvent:value:")) {
    self.keep(event);
    self.commands.push_back([event, value] {
      event->set(value);
      return MTLCommandBufferErrorNone;
    });
  }
}

void encode_wait(CommandBuffer& self, Ref<Event> event, NSUInteger value) {
  if (check_event(self, event, "encodeWaitForEvent:value:")) {
    self.keep(event);
    self.commands.push_back([event, value] {
      return event->wait(value, std::nullopt) ? MTLCommandBufferErrorNone : MTLCommandBufferErrorTimeout;
    });
  }
}

METHOD("MTLCommandBuffer", "encodeSignalEvent:value:", encode_signal)
METHOD("MTLCommandBuffer", "encodeWaitForEvent:value:", encode_wait)

}  // namespace event_methods
}  // namespace sim
