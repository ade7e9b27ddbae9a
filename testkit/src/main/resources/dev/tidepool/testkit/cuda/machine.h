// The simulated machine: its devices, their contexts and all that was made in them.
//
// One lock guards the registries and every field below that says nothing else. Nothing waits while it
// holds that lock. Objects are shared: a command in a stream keeps what it needs alive after its handle
// is gone. Devices and contexts live for ever, since threads keep contexts current.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "address_space.h"
#include "driver_api.h"
#include "ledger.h"

namespace sim {

using Clock = std::chrono::steady_clock;

struct Device;
struct Kernel;
struct Module;
struct Physical;
struct Pool;
class Stream;

// The ways that bytes go; each moves so many a second whatever number of streams use it.
enum Link { kHostToDevice, kDeviceToHost, kOnDevice, kToPeer, kLinks };

// A device's primary context, or one that cuCtxCreate made.
struct Context {
  Device* device = nullptr;
  int retained = 0;
  std::atomic<bool> active{false};
  std::set<Context*> peers;  // whose memory its kernels may touch
};

struct Device {
  int ordinal = 0;
  std::string name;
  size_t memory = 0;
  size_t largest_piece = SIZE_MAX;  // that is left in a row
  std::atomic<size_t> used{0};
  bool taken = false;  // by another process, in exclusive mode
  std::map<int, int> attributes;
  int running_kernels = 0;
  std::set<int> reachable;  // ordinals of the devices it can be a peer of
  Context context;
  std::shared_ptr<Pool> default_pool;
  std::shared_ptr<Pool> current_pool;  // null for the default one
  int file = -1;         // the bytes of what cuMemAlloc and pools give; sparse, offsets are never reused
  off_t file_end = 0;
  std::atomic<int> lost{CUDA_SUCCESS};  // sticky: what every call answers from now on
  std::atomic<int64_t> latency{0};      // nanoseconds for each command
  std::array<std::atomic<int64_t>, kLinks> bandwidth{};  // bytes a second, 0 for as fast as the host
  std::mutex links_lock;
  std::array<Clock::time_point, kLinks> link_free{};  // under links_lock
};

enum class Kind { kDevice, kPooled, kManaged, kPinned, kRegistered, kMapped, kOpened };

// What was advised for a part of managed memory.
struct Advice {
  bool read_mostly = false;
  CUmemLocation preferred{CU_MEM_LOCATION_TYPE_INVALID, 0};
  CUmemLocation prefetched{CU_MEM_LOCATION_TYPE_INVALID, 0};
  std::set<int> accessed_by;
};

// Bytes that the driver knows of.
struct Allocation {
  Kind kind;
  uintptr_t address;
  size_t size;
  Device* device;
  Context* context;  // that it ends with
  uint64_t id;
  unsigned flags = 0;
  off_t offset = 0;                 // in the device's file
  std::atomic<int> pending{0};      // commands that were asked for and have not ended
  std::atomic<bool> ready{true};    // false until a stream-ordered allocation is reached
  std::shared_ptr<Pool> pool;       // kPooled
  std::map<size_t, Advice> advice;  // kManaged: from that offset on
  int file = -1;                    // kManaged, kOpened
  bool to_host = false;             // kManaged: attached to the host alone
  std::shared_ptr<Physical> physical;  // kMapped
  std::map<int, CUmemAccess_flags> access;  // kMapped: by which devices
  bool exported = false;  // kDevice: others may have it

  bool on_device() const { return kind != Kind::kPinned && kind != Kind::kRegistered; }
};

// A command's hold on an allocation.
class Use {
 public:
  explicit Use(std::shared_ptr<Allocation> allocation) : allocation_(std::move(allocation)) {
    allocation_->pending++;
  }
  Use(Use&&) = default;
  Use& operator=(Use&&) = delete;
  ~Use() {
    if (allocation_) {
      allocation_->pending--;
    }
  }
  Allocation& operator*() const { return *allocation_; }
  Allocation* operator->() const { return allocation_.get(); }

 private:
  std::shared_ptr<Allocation> allocation_;
};

// One recording of an event: it comes to pass once, or fails with its device.
class Moment {
 public:
  void settle(CUresult result);
  CUresult state() const { return static_cast<CUresult>(state_.load(std::memory_order_acquire)); }
  CUresult wait();  // until settled
  Clock::time_point time() const { return time_; }

 private:
  std::atomic<int> state_{CUDA_ERROR_NOT_READY};
  Clock::time_point time_;
  std::mutex lock_;
  std::condition_variable settled_;
};

struct Event {
  Context* context;
  unsigned flags;
  std::shared_ptr<Moment> moment;  // of its last recording
};

struct Machine {
  std::mutex lock;
  std::atomic<bool> initialized{false};
  int driver_version = 0;
  std::atomic<uint64_t> next_id{1};
  size_t pinned_limit = SIZE_MAX;
  size_t pinned = 0;
  std::vector<Device*> devices;
  std::set<Context*> contexts;  // that cuCtxCreate made and nobody has destroyed
  std::map<uintptr_t, std::shared_ptr<Allocation>> live;
  std::map<uintptr_t, std::pair<size_t, std::string>> freed;  // the last of them: size and what it was
  std::unordered_map<CUstream, std::shared_ptr<Stream>> streams;
  bool recycles_streams = false;
  std::vector<CUstream> ended_streams;  // whose handles the next ones get
  std::set<std::shared_ptr<Stream>> running;  // destroyed ones too, until their work is done
  std::unordered_map<CUevent, std::shared_ptr<Event>> events;
  std::unordered_map<CUmodule, std::shared_ptr<Module>> modules;
  std::unordered_map<CUfunction, std::shared_ptr<Kernel>> kernels;
  std::unordered_map<CUmemoryPool, std::shared_ptr<Pool>> pools;
  std::unordered_map<CUmemGenericAllocationHandle, std::shared_ptr<Physical>> physicals;
  std::map<uintptr_t, size_t> reservations;
};

Machine& machine();

// A handle that was never used before: one that is kept too long is always found out.
template <class Handle>
Handle new_handle() {
  return reinterpret_cast<Handle>((uintptr_t{1} << 20) + 64 * machine().next_id++);
}

struct Locked : std::lock_guard<std::mutex> {
  Locked() : std::lock_guard<std::mutex>(machine().lock) {}
};

// Set when the process exits: every call is answered with CUDA_ERROR_DEINITIALIZED then.
extern std::atomic<bool> deinitialized;

// Counts the call and answers what stops it before it begins: the process exits, cuInit was not called,
// the thread runs a host function, an injected failure.
CUresult admit(Function& function, const char* name);

// The calling thread's context; not that of a lost device.
CUresult current(Context*& context);

// Whether the thread runs a host function of a stream, where calls of the driver are not permitted.
bool& in_host_function();

// The device of that ordinal, or null.
Device* device(int ordinal);

int attribute(const Device& device, int attribute);

// Makes devices of the default kind, in place of those that are.
void make_devices(int count);

// Ends the context: closes its streams, frees its memory. Takes the lock. What was still there is a
// violation each.
void end_context(Context& context);

// Whether a context may touch memory of another device, under the lock.
bool has_peer(const Context& context, const Device& device);

const char* kind_name(Kind kind);

}  // namespace sim

#define ENTER                                                        \
  static sim::Function& this_function = sim::function(__func__);     \
  if (CUresult refused = sim::admit(this_function, __func__)) {      \
    return refused;                                                  \
  }

// Also takes the thread's context, as most functions need.
#define ENTER_CONTEXT                                                \
  ENTER                                                              \
  sim::Context* context;                                             \
  if (CUresult refused = sim::current(context)) {                    \
    return refused;                                                  \
  }
