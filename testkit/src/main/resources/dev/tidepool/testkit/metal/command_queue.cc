#include "command_queue.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <set>
#include <thread>

namespace sim {

std::atomic<bool> ending{false};

namespace {

struct Running {
  std::mutex lock;
  std::condition_variable gone;
  std::set<std::shared_ptr<Queue>> queues;
};

Running& running() {
  static Running& instance = *new Running;
  return instance;
}

double seconds() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

const char* error_text(int code) {
  switch (code) {
    case MTLCommandBufferErrorInternal: return "Internal Error";
    case MTLCommandBufferErrorTimeout: return "Caused GPU Timeout Error";
    case MTLCommandBufferErrorPageFault: return "Caused GPU Address Fault Error";
    case MTLCommandBufferErrorAccessRevoked: return "Access Revoked";
    case MTLCommandBufferErrorNotPermitted: return "Not Permitted";
    case MTLCommandBufferErrorOutOfMemory: return "Insufficient Memory";
    case MTLCommandBufferErrorInvalidResource: return "Invalid Resource";
    case MTLCommandBufferErrorDeviceRemoved: return "Device Removed";
    case MTLCommandBufferErrorStackOverflow: return "Stack Overflow";
    default: return "Error";
  }
}

}  // namespace

std::shared_ptr<Queue> Queue::start(std::shared_ptr<Device> device, size_t most) {
  auto queue = std::make_shared<Queue>(std::move(device), most);
  {
    std::lock_guard guard(running().lock);
    running().queues.insert(queue);
  }
  std::thread(work, queue).detach();
  return queue;
}

void Queue::close() {
  std::lock_guard guard(lock_);
  closed_ = true;
  changed_.notify_all();
}

void Queue::enter() {
  std::unique_lock guard(lock_);
  if (present_ >= most && committed_ == 0) {
    violation(
        "commandBuffer: all %zu command buffers of the queue wait for a commit, so this would wait "
        "for ever",
        most);
  } else {
    changed_.wait(guard, [&] { return present_ < most || closed_; });
  }
  present_++;
}

void Queue::leave() {
  std::lock_guard guard(lock_);
  present_--;
  changed_.notify_all();
}

void Queue::enqueue(std::shared_ptr<CommandBuffer> buffer) {
  std::lock_guard guard(lock_);
  order_.push_back(std::move(buffer));
  changed_.notify_all();
}

void Queue::wake() {
  std::lock_guard guard(lock_);
  changed_.notify_all();
}

void Queue::work(std::shared_ptr<Queue> queue) {
  pthread_setname_np(pthread_self(), "metal-queue");
  prctl(PR_SET_TIMERSLACK, 1);  // latencies of microseconds
  std::unique_lock guard(queue->lock_);
  auto is_ready = [&] {
    if (queue->order_.empty()) {
      return queue->closed_;
    }
    CommandBuffer& first = *queue->order_.front();
    std::lock_guard state(first.lock);
    return first.status >= MTLCommandBufferStatusCommitted || first.abandoned || queue->closed_;
  };
  for (;;) {
    queue->changed_.wait(guard, is_ready);
    if (queue->order_.empty()) {
      break;
    }
    {
      std::shared_ptr<CommandBuffer> first = std::move(queue->order_.front());
      queue->order_.pop_front();
      guard.unlock();
      bool committed;
      {
        std::lock_guard state(first->lock);
        committed = first->status >= MTLCommandBufferStatusCommitted;
      }
      if (committed) {
        first->execute();
      }
    }
    guard.lock();
  }
  guard.unlock();
  std::lock_guard all(running().lock);
  running().queues.erase(queue);
  running().gone.notify_all();
}

void end_queues() {
  ending = true;
  std::unique_lock guard(running().lock);
  for (const auto& queue : running().queues) {
    queue->close();
  }
  running().gone.wait(guard, [] { return running().queues.empty(); });
  ending = false;
}

bool Encoder::is_open(const char* message) {
  if (done) {
    violation("%s: the encoder was ended by endEncoding", message);
  }
  return !done;
}

std::string CommandBuffer::describe() const {
  constexpr const char* kStates[] = {"not enqueued", "enqueued",  "committed",
                                     "scheduled",    "completed", "failed"};
  return std::string("MTLCommandBuffer, ") + kStates[status];
}

CommandBuffer::~CommandBuffer() {
  if (error != nullptr) {
    registry().drop_constant(error);
  }
}

void CommandBuffer::end() {
  if (open) {
    violation("a command buffer was released while %s was not ended by endEncoding", open->type.name);
    open_hold.reset();
    open.reset();
  }
  forget();
  bool left = false;
  {
    std::lock_guard guard(lock);
    left = status < MTLCommandBufferStatusCommitted;
    abandoned = left;
  }
  if (left) {
    uses.clear();  // before the holds, of which some may be the last
    queue->leave();
  }
  queue->wake();
}

bool CommandBuffer::can_encode(const char* message) {
  if (status >= MTLCommandBufferStatusCommitted) {
    violation("%s: the command buffer was committed before", message);
    return false;
  }
  if (open) {
    violation("%s: %s of the command buffer was not ended by endEncoding", message, open->type.name);
    return false;
  }
  return true;
}

void CommandBuffer::use(const std::shared_ptr<Buffer>& buffer) {
  uses.emplace_back(buffer->memory);
  keep(buffer);
}

void CommandBuffer::keep(std::shared_ptr<Object> object) {
  if (retained) {
    holds.emplace_back(std::move(object));
  } else {
    kept.push_back(std::move(object));
  }
}

void CommandBuffer::commit() {
  if (status >= MTLCommandBufferStatusCommitted) {
    violation("commit: the command buffer was committed before");
    return;
  }
  if (open) {
    violation("commit: %s was not ended by endEncoding", open->type.name);
    open->done = true;
    open_hold.reset();
    open.reset();
    broken = MTLCommandBufferErrorInternal;
  }
  auto self = std::static_pointer_cast<CommandBuffer>(shared_from_this());
  bool enqueued;
  registry().hold(*this);  // until it has ended
  {
    std::lock_guard counts(queue->lock_);
    queue->committed_++;
  }
  {
    std::lock_guard guard(lock);
    enqueued = status == MTLCommandBufferStatusEnqueued;
    status = MTLCommandBufferStatusCommitted;
  }
  if (enqueued) {
    queue->wake();
  } else {
    queue->enqueue(self);
  }
}

void CommandBuffer::forget() {
  commands.clear();
  uses.clear();  // before the buffers may end
  kept.clear();
  holds.clear();
}

void CommandBuffer::execute() {
  static Function& executions = function("execute");
  Device& device = *queue->device;
  {
    std::lock_guard guard(lock);
    status = MTLCommandBufferStatusScheduled;
    started = seconds();
    changed.notify_all();
  }
  device.take_time(0, Clock::now());
  int code = broken;
  if (int injected = executions.count(); code == 0 && injected != 0) {
    code = injected;
  }
  for (size_t i = 0; i < commands.size() && code == 0; i++) {
    code = device.lost != 0 ? device.lost.load() : commands[i]();
  }
  Device::pay_time();
  if (code == 0) {
    code = device.lost;
  }
  forget();
  {
    std::lock_guard counts(queue->lock_);
    queue->committed_--;
    queue->present_--;
    queue->changed_.notify_all();
  }
  {
    std::lock_guard guard(lock);
    ended = seconds();
    if (code != 0) {
      char text[128];
      snprintf(text, sizeof text, "%s (%08x)", error_text(code), static_cast<unsigned>(code));
      error = registry().constant(make_error("MTLCommandBufferErrorDomain", code, text));
    }
    status = code == 0 ? MTLCommandBufferStatusCompleted : MTLCommandBufferStatusError;
    changed.notify_all();
  }
  registry().let_go(*this);
}

bool check_buffer(const CommandBuffer& commands, const std::shared_ptr<Buffer>& buffer, const char* message) {
  if (!buffer) {
    violation("%s: no buffer", message);
    return false;
  }
  if (buffer->device != commands.queue->device) {
    violation("%s: %s, where the command buffer is of device %d", message, buffer->describe().c_str(),
              commands.queue->device->ordinal);
    return false;
  }
  return true;
}

Autoreleased open_encoder(
    CommandBuffer& buffer, const char* message,
    const std::function<std::shared_ptr<Encoder>(std::shared_ptr<CommandBuffer>)>& make) {
  if (!buffer.can_encode(message)) {
    return {nullptr};
  }
  buffer.open = make(std::static_pointer_cast<CommandBuffer>(buffer.shared_from_this()));
  buffer.open_hold.emplace(buffer.open);
  return {buffer.open};
}

namespace queue_methods {

Owned new_queue_of(Device& self, NSUInteger most) {
  if (most == 0) {
    violation("newCommandQueueWithMaxCommandBufferCount: 0");
    return {nullptr};
  }
  return {Queue::start(std::static_pointer_cast<Device>(self.shared_from_this()), most)};
}
constexpr NSUInteger kDefaultMost = 64;
Owned new_queue(Device& self) { return new_queue_of(self, kDefaultMost); }

METHOD("MTLDevice", "newCommandQueue", new_queue)
METHOD("MTLDevice", "newCommandQueueWithMaxCommandBufferCount:", new_queue_of)

std::shared_ptr<Object> make_commands(Queue& self, bool retained) {
  self.enter();
  return std::make_shared<CommandBuffer>(std::static_pointer_cast<Queue>(self.shared_from_this()), retained);
}
Borrowed queue_device(Queue& self) { return {self.device->handle}; }
Borrowed label(Labelled& self) { return {self.label.handle()}; }
void set_label(Labelled& self, Ref<String> label) { self.label.set(label ? label->text : ""); }
Autoreleased command_buffer(Queue& self) { return {make_commands(self, true)}; }
Autoreleased unretained_command_buffer(Queue& self) { return {make_commands(self, false)}; }

METHOD("MTLCommandQueue", "device", queue_device)
METHOD("MTLCommandQueue", "label", label)
METHOD("MTLCommandQueue", "setLabel:", set_label)
METHOD("MTLCommandQueue", "commandBuffer", command_buffer)
METHOD("MTLCommandQueue", "commandBufferWithUnretainedReferences", unretained_command_buffer)

Borrowed device(CommandBuffer& self) { return {self.queue->device->handle}; }
Borrowed command_queue(CommandBuffer& self) { return {self.queue->handle}; }
Bool retained_references(CommandBuffer& self) { return {self.retained}; }
void enqueue(CommandBuffer& self) {
  {
    std::lock_guard guard(self.lock);
    if (self.status != MTLCommandBufferStatusNotEnqueued) {
      violation("enqueue: %s", self.describe().c_str());
      return;
    }
    self.status = MTLCommandBufferStatusEnqueued;
  }
  self.queue->enqueue(std::static_pointer_cast<CommandBuffer>(self.shared_from_this()));
}
void commit(CommandBuffer& self) { self.commit(); }

void wait_for(CommandBuffer& self, NSUInteger status, const char* message) {
  std::unique_lock guard(self.lock);
  if (self.status < MTLCommandBufferStatusCommitted) {
    violation("%s: the command buffer was not committed, so this would wait for ever", message);
    return;
  }
  self.changed.wait(guard, [&] { return self.status >= status; });
}
void wait_until_scheduled(CommandBuffer& self) {
  wait_for(self, MTLCommandBufferStatusScheduled, "waitUntilScheduled");
}
void wait_until_completed(CommandBuffer& self) {
  wait_for(self, MTLCommandBufferStatusCompleted, "waitUntilCompleted");
}

NSUInteger status(CommandBuffer& self) {
  std::lock_guard guard(self.lock);
  return self.status;
}
Borrowed error(CommandBuffer& self) {
  std::lock_guard guard(self.lock);
  return {self.error};
}
double start_time(CommandBuffer& self) {
  std::lock_guard guard(self.lock);
  return self.status >= MTLCommandBufferStatusCompleted ? self.started : 0;
}
double end_time(CommandBuffer& self) {
  std::lock_guard guard(self.lock);
  return self.ended;
}
double kernel_start_time(CommandBuffer& self) { return start_time(self); }
double kernel_end_time(CommandBuffer& self) { return end_time(self); }

METHOD("MTLCommandBuffer", "device", device)
METHOD("MTLCommandBuffer", "commandQueue", command_queue)
METHOD("MTLCommandBuffer", "retainedReferences", retained_references)
METHOD("MTLCommandBuffer", "label", label)
METHOD("MTLCommandBuffer", "setLabel:", set_label)
METHOD("MTLCommandBuffer", "enqueue", enqueue)
METHOD("MTLCommandBuffer", "commit", commit)
METHOD("MTLCommandBuffer", "waitUntilScheduled", wait_until_scheduled)
METHOD("MTLCommandBuffer", "waitUntilCompleted", wait_until_completed)
METHOD("MTLCommandBuffer", "status", status)
METHOD("MTLCommandBuffer", "error", error)
METHOD("MTLCommandBuffer", "kernelStartTime", kernel_start_time)
METHOD("MTLCommandBuffer", "kernelEndTime", kernel_end_time)
METHOD("MTLCommandBuffer", "GPUStartTime", start_time)
METHOD("MTLCommandBuffer", "GPUEndTime", end_time)

Borrowed encoder_device(Encoder& self) { return {self.buffer->queue->device->handle}; }
void end_encoding(Encoder& self) {
  if (self.is_open("endEncoding")) {
    self.done = true;
    CommandBuffer& buffer = *self.buffer;
    if (buffer.open.get() == &self) {
      buffer.open_hold.reset();
      buffer.open.reset();
    }
  }
}

METHOD("MTLCommandEncoder", "device", encoder_device)
METHOD("MTLCommandEncoder", "label", label)
METHOD("MTLCommandEncoder", "setLabel:", set_label)
METHOD("MTLCommandEncoder", "endEncoding", end_encoding)

}  // namespace queue_methods
}  // namespace sim
