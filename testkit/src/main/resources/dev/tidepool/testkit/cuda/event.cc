// Events: an event names a moment, that of its last recording; each wait for it holds the moment.

#include "pool.h"
#include "stream.h"

namespace sim {

void Moment::settle(CUresult result) {
  std::lock_guard guard(lock_);
  time_ = Clock::now();
  state_.store(result, std::memory_order_release);
  settled_.notify_all();
}

CUresult Moment::wait() {
  std::unique_lock guard(lock_);
  settled_.wait(guard, [&] { return state() != CUDA_ERROR_NOT_READY; });
  return state();
}

namespace {

CUresult event_of(CUevent handle, const char* call, std::shared_ptr<Event>& event,
                  std::shared_ptr<Moment>& moment) {
  Locked locked;
  auto found = machine().events.find(handle);
  if (found == machine().events.end()) {
    violation("%s: %p is no event, or a destroyed one", call, static_cast<void*>(handle));
    return CUDA_ERROR_INVALID_HANDLE;
  }
  event = found->second;
  moment = event->moment;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sim

using namespace sim;

EXPORT CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) {
  ENTER_CONTEXT
  constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  if (phEvent == nullptr || (Flags & ~kKnown) != 0 ||
      ((Flags & CU_EVENT_INTERPROCESS) != 0 && (Flags & CU_EVENT_DISABLE_TIMING) == 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto event = std::make_shared<Event>(Event{context, Flags, nullptr});
  *phEvent = new_handle<CUevent>();
  Locked locked;
  machine().events[*phEvent] = std::move(event);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuEventDestroy_v2(CUevent hEvent) {
  ENTER_CONTEXT
  std::shared_ptr<Event> event;
  std::shared_ptr<Moment> moment;
  if (CUresult error = event_of(hEvent, __func__, event, moment)) {
    return error;
  }
  Locked locked;
  machine().events.erase(hEvent);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  ENTER_CONTEXT
  std::shared_ptr<Event> event;
  std::shared_ptr<Moment> previous;
  std::shared_ptr<Stream> stream;
  if (CUresult error = event_of(hEvent, __func__, event, previous)) {
    return error;
  }
  if (CUresult error = stream_of(hStream, __func__, stream)) {
    return error;
  }
  if (event->context != stream->context) {
    violation("cuEventRecord: an event of device %d on a stream of device %d",
              event->context->device->ordinal, stream->context->device->ordinal);
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (previous && previous->state() == CUDA_ERROR_NOT_READY) {
    violation("cuEventRecord: event %p is recorded again while its last recording is pending",
              static_cast<void*>(hEvent));
  }
  auto moment = std::make_shared<Moment>();
  CUresult result =
      stream->submit({{}, {}, [moment](CUresult result) { moment->settle(result); }});
  if (result == CUDA_SUCCESS) {
    Locked locked;
    event->moment = moment;
  }
  return result;
}

EXPORT CUresult cuEventQuery(CUevent hEvent) {
  ENTER_CONTEXT
  std::shared_ptr<Event> event;
  std::shared_ptr<Moment> moment;
  if (CUresult error = event_of(hEvent, __func__, event, moment)) {
    return error;
  }
  return moment ? moment->state() : CUDA_SUCCESS;
}

EXPORT CUresult cuEventSynchronize(CUevent hEvent) {
  ENTER_CONTEXT
  std::shared_ptr<Event> event;
  std::shared_ptr<Moment> moment;
  if (CUresult error = event_of(hEvent, __func__, event, moment)) {
    return error;
  }
  CUresult result = moment ? moment->wait() : CUDA_SUCCESS;
  trim_pools(*event->context->device);
  return result;
}

EXPORT CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  ENTER_CONTEXT
  std::shared_ptr<Event> events[2];
  std::shared_ptr<Moment> moments[2];
  CUevent handles[2] = {hStart, hEnd};
  for (int i = 0; i < 2; i++) {
    if (CUresult error = event_of(handles[i], __func__, events[i], moments[i])) {
      return error;
    }
    if ((events[i]->flags & CU_EVENT_DISABLE_TIMING) != 0 || !moments[i]) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
  }
  for (const auto& moment : moments) {
    if (CUresult state = moment->state()) {
      return state;
    }
  }
  if (pMilliseconds == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pMilliseconds =
      std::chrono::duration<float, std::milli>(moments[1]->time() - moments[0]->time()).count();
  return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
  ENTER_CONTEXT
  std::shared_ptr<Event> event;
  std::shared_ptr<Moment> moment;
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(hStream, __func__, stream)) {
    return error;
  }
  if (CUresult error = event_of(hEvent, __func__, event, moment)) {
    return error;
  }
  if (Flags > 1) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!moment || moment->state() != CUDA_ERROR_NOT_READY) {
    return CUDA_SUCCESS;
  }
  return stream->submit({[moment] { moment->wait(); }, {}});
}
