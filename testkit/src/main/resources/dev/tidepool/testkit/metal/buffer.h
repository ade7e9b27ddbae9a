// Buffers, and heaps that buffers are parts of.
#pragma once

#include "device.h"

namespace sim {

// Bytes of a buffer or a heap. Managed memory of a device with memory of its own has two copies.
class Memory {
 public:
  // Of the device's own; null where there is no room.
  static std::shared_ptr<Memory> allocate(std::shared_ptr<Device> device, size_t size, NSUInteger storage);
  // Of the program's, which has to outlive this.
  static std::shared_ptr<Memory> wrap(std::shared_ptr<Device> device, void* bytes, size_t size);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Whether the bytes are there: those of the program may have been unmapped.
  bool is_mapped() const;

  char* on_device = nullptr;
  char* on_host = nullptr;  // the same where there is one copy; null for private memory
  const size_t size;
  const NSUInteger storage;
  const bool of_program;
  std::atomic<int> uses{0};  // by command buffers that have not ended

 private:
  Memory(std::shared_ptr<Device> device, size_t size, NSUInteger storage, bool of_program)
      : size(size), storage(storage), of_program(of_program), device_(std::move(device)) {}
  std::shared_ptr<Device> device_;
};

struct Labelled : Object {
  using Object::Object;
  OwnString label;
};

struct Heap;

struct Buffer : Labelled {
  Buffer(std::shared_ptr<Device> device, std::shared_ptr<Memory> memory, size_t offset, size_t length,
         NSUInteger options, std::shared_ptr<Heap> heap);
  void end() override;
  std::string describe() const override;

  char* on_device() const { return memory->on_device + offset; }
  char* on_host() const { return memory->on_host == nullptr ? nullptr : memory->on_host + offset; }

  const std::shared_ptr<Device> device;
  const std::shared_ptr<Memory> memory;
  const size_t offset;  // in its heap
  const size_t length;
  const NSUInteger options;
  const std::shared_ptr<Heap> heap;  // or null
};

// What a command does with the bytes of a buffer; a released buffer may go before it has been done.
class Use {
 public:
  explicit Use(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) { memory_->uses++; }
  Use(Use&&) = default;
  Use& operator=(Use&&) = delete;
  ~Use() {
    if (memory_) {
      memory_->uses--;
    }
  }

 private:
  std::shared_ptr<Memory> memory_;
};

}  // namespace sim
