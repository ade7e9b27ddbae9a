// Queues, each with a thread that carries out its command buffers one after another, and command buffers.
#pragma once

#include <condition_variable>
#include <deque>
#include <optional>

#include "buffer.h"

namespace sim {

struct CommandBuffer;

struct Queue : Labelled {
  Queue(std::shared_ptr<Device> device, size_t most)
      : Labelled(class_of("MTLCommandQueue")), device(std::move(device)), most(most) {}
  static std::shared_ptr<Queue> start(std::shared_ptr<Device> device, size_t most);
  void end() override { close(); }
  std::string describe() const override {
    return "MTLCommandQueue of device " + std::to_string(device->ordinal);
  }

  void close();  // the thread ends when all that was committed is done
  // Waits for a place among the command buffers that have not ended.
  void enter();
  void leave();
  void enqueue(std::shared_ptr<CommandBuffer> buffer);  // in the order of execution, unless it is there
  void wake();

  const std::shared_ptr<Device> device;
  const size_t most;

 private:
  static void work(std::shared_ptr<Queue> queue);

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<CommandBuffer>> order_;
  size_t present_ = 0;
  size_t committed_ = 0;  // of those present
  bool closed_ = false;

  friend struct CommandBuffer;
};

// Waits until the threads of all queues are gone; what waits for an event fails.
void end_queues();
// Whether that is happening.
extern std::atomic<bool> ending;

struct Encoder;

// A step of a command buffer; an error code, 0 for success.
using Command = std::function<int()>;

struct CommandBuffer : Labelled {
  CommandBuffer(std::shared_ptr<Queue> queue, bool retained)
      : Labelled(class_of("MTLCommandBuffer")), queue(std::move(queue)), retained(retained) {}
  ~CommandBuffer() override;
  void end() override;
  std::string describe() const override;

  bool can_encode(const char* message);  // else a violation
  // Has a command use a buffer: its memory stays, and the object too where references are retained.
  void use(const std::shared_ptr<Buffer>& buffer);
  void keep(std::shared_ptr<Object> object);  // like use, for other objects
  void commit();
  void execute();  // on the queue's thread
  void forget();   // its commands and what they use

  const std::shared_ptr<Queue> queue;
  const bool retained;
  std::vector<Command> commands;  // of the encoding thread, then of the queue's
  std::vector<std::shared_ptr<Object>> kept;
  std::vector<Use> uses;
  std::vector<Hold> holds;
  std::shared_ptr<Encoder> open;  // whose encoding has not ended
  std::optional<Hold> open_hold;
  int broken = 0;  // the error that misuse is punished with

  std::mutex lock;
  std::condition_variable changed;
  NSUInteger status = MTLCommandBufferStatusNotEnqueued;
  bool abandoned = false;  // released before it was committed
  id error = nullptr;
  double started = 0;
  double ended = 0;
};

// What encodes commands; programs end it before they commit.
struct Encoder : Labelled {
  Encoder(ClassInfo& type, std::shared_ptr<CommandBuffer> buffer)
      : Labelled(type), buffer(std::move(buffer)) {}
  std::string describe() const override { return std::string(type.name) + (done ? ", ended" : ""); }

  // Whether commands can still be added; else a violation.
  bool is_open(const char* message);

  const std::shared_ptr<CommandBuffer> buffer;
  bool done = false;
};

// Makes an encoder the open one of its command buffer.
Autoreleased open_encoder(
    CommandBuffer& buffer, const char* message,
    const std::function<std::shared_ptr<Encoder>(std::shared_ptr<CommandBuffer>)>& make);

// Whether the buffer is there and of the same device; else a violation.
bool check_buffer(const CommandBuffer& commands, const std::shared_ptr<Buffer>& buffer, const char* message);

}  // namespace sim
