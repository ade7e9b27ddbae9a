#include "grid.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace sim {
namespace {

constexpr size_t kStack = size_t{128} << 10;
constexpr uint64_t kWorthAThread = uint64_t{1} << 16;  // kernel threads; fewer are done before it starts

// The threads of one block as coroutines on one host thread: each runs until it waits at a barrier or
// ends, and nobody passes the barrier before all have come to it. Shared variables are thread-local
// ones of the host's, so all of them must stay on this thread.
class Threads {
 public:
  explicit Threads(unsigned count) : fibers_(count) {
    stacks_ = static_cast<char*>(mmap(nullptr, count * kStack, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  ~Threads() { munmap(stacks_, fibers_.size() * kStack); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void run(const tidepool_kernel& kernel, void** arguments, const tidepool_place& block) {
    kernel_ = &kernel;
    arguments_ = arguments;
    current = this;
    unsigned count = block.block_size.x * block.block_size.y * block.block_size.z;
    for (unsigned i = 0; i < count; i++) {
      Fiber& fiber = fibers_[i];
      fiber.place = block;
      fiber.place.barrier = barrier;
      fiber.place.thread = {i % block.block_size.x, i / block.block_size.x % block.block_size.y,
                            i / block.block_size.x / block.block_size.y};
      fiber.ended = false;
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = stacks_ + i * kStack;
      fiber.context.uc_stack.ss_size = kStack;
      fiber.context.uc_link = &scheduler_;
      makecontext(&fiber.context, start, 0);
    }
    for (bool waiting = true; waiting;) {
      waiting = false;
      for (unsigned i = 0; i < count; i++) {
        Fiber& fiber = fibers_[i];
        if (!fiber.ended) {
          running_ = &fiber;
          swapcontext(&scheduler_, &fiber.context);
          waiting |= !fiber.ended;
        }
      }
    }
  }

 private:
  struct Fiber {
    ucontext_t context;
    tidepool_place place;
    bool ended;
  };

  static void start() {
    Fiber& self = *current->running_;
    current->kernel_->thread(current->arguments_, &self.place);
    self.ended = true;
  }

  static void barrier() { swapcontext(&current->running_->context, &current->scheduler_); }

  static thread_local Threads* current;

  std::vector<Fiber> fibers_;
  char* stacks_;
  ucontext_t scheduler_;
  Fiber* running_ = nullptr;
  const tidepool_kernel* kernel_ = nullptr;
  void** arguments_ = nullptr;
};

thread_local Threads* Threads::current = nullptr;

// Has the calling thread take subnormal numbers for zero and give zero for them, as many GPUs do.
class Flushing {
 public:
  explicit Flushing(bool flush) {
#ifdef __x86_64__
    if (flush) {
      _mm_setcsr(before_ | 0x8040);
    }
#else
    (void)flush;
#endif
  }
#ifdef __x86_64__
  ~Flushing() { _mm_setcsr(before_); }
#endif
  Flushing(const Flushing&) = delete;
  Flushing& operator=(const Flushing&) = delete;

 private:
#ifdef __x86_64__
  unsigned before_ = _mm_getcsr();
#endif
};

// How many of the block's threads there are along one dimension.
unsigned clipped(unsigned block, unsigned threads, unsigned extent) {
  return extent == 0 ? threads : std::min(threads, extent - block * threads);
}

// How many threads the grid has along one dimension.
unsigned threads_along(unsigned blocks, unsigned threads, unsigned extent) {
  return extent == 0 ? blocks * threads : extent;
}

}  // namespace

void run(const tidepool_kernel& kernel, void** arguments, const Grid& grid) {
  uint64_t blocks = uint64_t{grid.blocks.x} * grid.blocks.y * grid.blocks.z;
  unsigned in_block = grid.threads.x * grid.threads.y * grid.threads.z;
  std::atomic<uint64_t> next{0};
  auto work = [&] {
    Flushing flushing(grid.flush_subnormals);
    // What was in shared memory before is not zero.
    std::vector<char> shared(grid.shared_bytes + 16, '\x5A');
    auto aligned = (reinterpret_cast<uintptr_t>(shared.data()) + 15) / 16 * 16;
    Threads threads(kernel.barriers ? in_block : 1);
    for (uint64_t i; (i = next.fetch_add(1)) < blocks;) {
      tidepool_place place{};
      place.block = {static_cast<unsigned>(i % grid.blocks.x),
                     static_cast<unsigned>(i / grid.blocks.x % grid.blocks.y),
                     static_cast<unsigned>(i / grid.blocks.x / grid.blocks.y)};
      place.block_size = {clipped(place.block.x, grid.threads.x, grid.extent.x),
                          clipped(place.block.y, grid.threads.y, grid.extent.y),
                          clipped(place.block.z, grid.threads.z, grid.extent.z)};
      place.launched_size = grid.threads;
      place.grid_size = grid.blocks;
      place.extent = {threads_along(grid.blocks.x, grid.threads.x, grid.extent.x),
                      threads_along(grid.blocks.y, grid.threads.y, grid.extent.y),
                      threads_along(grid.blocks.z, grid.threads.z, grid.extent.z)};
      place.shared = reinterpret_cast<void*>(aligned);
      if (kernel.barriers) {
        threads.run(kernel, arguments, place);
      } else {
        kernel.block(arguments, &place);
      }
    }
  };
  uint64_t worth = std::min({blocks, blocks * in_block / kWorthAThread,
                             uint64_t{std::max(1U, std::thread::hardware_concurrency())}});
  std::vector<std::thread> others;
  for (uint64_t i = 1; i < worth; i++) {
    others.emplace_back(work);
  }
  work();
  for (std::thread& other : others) {
    other.join();
  }
}

}  // namespace sim
