#include "stream.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <thread>

#include "pool.h"

namespace sim {

Stream::Stream(Context* context, unsigned flags, int priority)
    : context(context), flags(flags), priority(priority), id(machine().next_id++) {}

std::shared_ptr<Stream> Stream::start(Context* context, unsigned flags, int priority) {
  std::shared_ptr<Stream> stream(new Stream(context, flags, priority));
  machine().running.insert(stream);
  std::thread(work, stream).detach();
  return stream;
}

CUresult Stream::submit(Command command) {
  std::lock_guard guard(lock_);
  if (closed_) {
    violation("a command for stream %lu, which was destroyed meanwhile", id);
    return CUDA_ERROR_INVALID_HANDLE;
  }
  commands_.push_back(std::move(command));
  submitted_++;
  wake_.notify_one();
  return CUDA_SUCCESS;
}

CUresult Stream::wait() {
  {
    std::unique_lock guard(lock_);
    uint64_t target = submitted_;
    done_.wait(guard, [&] { return completed_ >= target; });
  }
  return static_cast<CUresult>(context->device->lost.load());
}

CUresult Stream::query() {
  if (int lost = context->device->lost) {
    return static_cast<CUresult>(lost);
  }
  std::lock_guard guard(lock_);
  return completed_ == submitted_ ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

void Stream::close() {
  std::lock_guard guard(lock_);
  closed_ = true;
  wake_.notify_one();
}

void Stream::execute(Command& command) {
  static Function& executions = function("execute");
  Device& device = *context->device;
  if (auto injected = static_cast<CUresult>(executions.count())) {
    device.lost = injected;
  }
  CUresult result = static_cast<CUresult>(device.lost.load());
  if (result == CUDA_SUCCESS && command.work) {
    for (const Use& use : command.uses) {
      if (!use->ready) {
        violation("stream %lu uses %s %#lx before the stream that allocates it came to it", id,
                  kind_name(use->kind), use->address);
      }
    }
    command.work();
    result = static_cast<CUresult>(device.lost.load());
  }
  command.uses.clear();
  if (command.settle) {
    command.settle(result);
  }
}

void Stream::work(std::shared_ptr<Stream> stream) {
  pthread_setname_np(pthread_self(), "cuda-stream");
  prctl(PR_SET_TIMERSLACK, 1);  // latencies of microseconds
  std::unique_lock guard(stream->lock_);
  for (;;) {
    stream->wake_.wait(guard, [&] { return stream->closed_ || !stream->commands_.empty(); });
    if (stream->commands_.empty()) {
      break;
    }
    {
      Command command = std::move(stream->commands_.front());
      stream->commands_.pop_front();
      guard.unlock();
      stream->execute(command);
    }
    guard.lock();
    stream->completed_++;
    stream->done_.notify_all();
  }
  guard.unlock();
  Locked locked;
  machine().running.erase(stream);
}

CUresult stream_of(CUstream handle, const char* call, std::shared_ptr<Stream>& stream) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
    violation("%s: the default stream; streams are always named here", call);
    return CUDA_ERROR_INVALID_HANDLE;
  }
  Locked locked;
  auto found = machine().streams.find(handle);
  if (found == machine().streams.end()) {
    violation("%s: %p is no stream, or a destroyed one", call, static_cast<void*>(handle));
    return CUDA_ERROR_INVALID_HANDLE;
  }
  stream = found->second;
  return static_cast<CUresult>(stream->context->device->lost.load());
}

void take_time(Device& device, Link link, size_t bytes, Clock::time_point start) {
  Clock::time_point end = start + std::chrono::nanoseconds(device.latency.load());
  if (int64_t bandwidth = device.bandwidth[link]; bandwidth > 0 && bytes > 0) {
    auto duration = std::chrono::nanoseconds(
        static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(bandwidth)));
    std::lock_guard guard(device.links_lock);
    end = std::max(end, device.link_free[link]) + duration;
    device.link_free[link] = end;
  }
  std::this_thread::sleep_until(end);
}

CUresult wait_for(Context* context) {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    Locked locked;
    for (const auto& stream : machine().running) {
      if (stream->context == context) {
        streams.push_back(stream);
      }
    }
  }
  for (const auto& stream : streams) {
    stream->wait();
  }
  trim_pools(*context->device);
  return static_cast<CUresult>(context->device->lost.load());
}

}  // namespace sim

using namespace sim;

EXPORT CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
  ENTER_CONTEXT
  if (phStream == nullptr || flags > CU_STREAM_NON_BLOCKING) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  std::shared_ptr<Stream> stream =
      Stream::start(context, flags, std::clamp(priority, kGreatestPriority, kLeastPriority));
  std::vector<CUstream>& ended = machine().ended_streams;
  if (ended.empty()) {
    *phStream = new_handle<CUstream>();
  } else {
    *phStream = ended.back();
    ended.pop_back();
  }
  machine().streams[*phStream] = stream;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamDestroy_v2(CUstream hStream) {
  ENTER_CONTEXT
  std::shared_ptr<Stream> stream;
  CUresult lost = stream_of(hStream, __func__, stream);
  if (!stream) {
    return lost;
  }
  {
    Locked locked;
    machine().streams.erase(hStream);
    if (machine().recycles_streams) {
      machine().ended_streams.push_back(hStream);
    }
  }
  stream->close();
  return lost;
}

EXPORT CUresult cuStreamSynchronize(CUstream hStream) {
  ENTER_CONTEXT
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(hStream, __func__, stream)) {
    return error;
  }
  CUresult result = stream->wait();
  trim_pools(*stream->context->device);
  return result;
}

EXPORT CUresult cuStreamQuery(CUstream hStream) {
  ENTER_CONTEXT
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(hStream, __func__, stream)) {
    return error;
  }
  return stream->query();
}

EXPORT CUresult cuStreamGetPriority(CUstream hStream, int* priority) {
  ENTER_CONTEXT
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(hStream, __func__, stream)) {
    return error;
  }
  if (priority == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  ENTER_CONTEXT
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(hStream, __func__, stream)) {
    return error;
  }
  if (fn == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return stream->submit({[fn, userData] {
                           in_host_function() = true;
                           fn(userData);
                           in_host_function() = false;
                         },
                         {}});
}

EXPORT CUresult cuStreamGetCtx(CUstream hStream, CUcontext* pctx) {
  ENTER_CONTEXT
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(hStream, __func__, stream)) {
    return error;
  }
  if (pctx == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pctx = reinterpret_cast<CUcontext>(stream->context);
  return CUDA_SUCCESS;
}
