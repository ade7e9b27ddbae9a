// Streams run truly behind the caller's back: each has a thread and works off its commands in order.
#pragma once

#include <deque>
#include <functional>

#include "machine.h"

namespace sim {

constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;

struct Command {
  std::function<void()> work;                // skipped when the device is lost
  std::vector<Use> uses;                     // released before the command counts as done
  std::function<void(CUresult)> settle = {};  // always called, with how it went
};

class Stream {
 public:
  // Under the machine's lock.
  static std::shared_ptr<Stream> start(Context* context, unsigned flags, int priority);

  CUresult submit(Command command);
  CUresult wait();   // until all that was submitted so far is done; not under the machine's lock
  CUresult query();  // CUDA_ERROR_NOT_READY while work is left
  void close();      // no further commands; those submitted are done all the same

  Context* const context;
  const unsigned flags;
  const int priority;
  const uint64_t id;

 private:
  Stream(Context* context, unsigned flags, int priority);
  static void work(std::shared_ptr<Stream> stream);
  void execute(Command& command);

  std::mutex lock_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<Command> commands_;
  uint64_t submitted_ = 0;
  uint64_t completed_ = 0;
  bool closed_ = false;
};

// The stream of that handle; the default streams are refused, as violations.
CUresult stream_of(CUstream handle, const char* call, std::shared_ptr<Stream>& stream);

// Holds the link for as long as that many bytes take on it, then waits until they are through; from
// `start` on at least the device's latency goes by. Called by commands.
void take_time(Device& device, Link link, size_t bytes, Clock::time_point start);

// Waits for all streams of the context.
CUresult wait_for(Context* context);

}  // namespace sim
