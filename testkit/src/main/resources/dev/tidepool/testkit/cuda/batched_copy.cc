// Copies in batches. The copies of a batch have no order among themselves, so what depends on one is a
// violation, and they are carried out last to first.

#include "batched_copy.h"

#include <algorithm>
#include <cstring>

#include "memory.h"
#include "stream.h"

namespace sim {
namespace {

struct Range {
  uintptr_t begin;
  uintptr_t end;
  bool written;
};

struct BatchedCopy {
  uintptr_t destination;
  uintptr_t source;
  size_t size;
  Link link;
  std::vector<char> early = {};  // the source's bytes, where they need not wait for the stream
};

// What one call was given, and what it makes of it.
struct Batch {
  const char* call;
  const CUdeviceptr* destinations;
  const CUdeviceptr* sources;
  const size_t* sizes;
  size_t count;
  const CopyAttributes* attributes;
  const size_t* first_copies;
  size_t attribute_count;

  std::vector<BatchedCopy> copies = {};
  std::vector<Use> uses = {};

  // Adds up to the first copy that is refused, whose number is left in `failed`.
  CUresult check(size_t& failed);
  CUresult submit(const std::shared_ptr<Stream>& stream);

 private:
  CUresult check_arguments() const;
  CUresult check_copy(size_t index, const CopyAttributes& attribute);
  CUresult side(CUdeviceptr address, size_t size, Device*& device);
  CUresult check_overlaps() const;
};

CUresult Batch::check_arguments() const {
  if (count == 0) {
    violation("%s of no copies", call);
  } else if (destinations == nullptr || sources == nullptr || sizes == nullptr ||
             attributes == nullptr || first_copies == nullptr) {
    violation("%s: an array is null", call);
  } else if (attribute_count == 0 || attribute_count > count) {
    violation("%s: %zu attributes for %zu copies", call, attribute_count, count);
  } else if (first_copies[0] != 0) {
    violation("%s: the first attributes begin at copy %zu, not at 0", call, first_copies[0]);
  } else {
    for (size_t i = 0; i < attribute_count; i++) {
      unsigned order = attributes[i].source_order;
      if (i > 0 && first_copies[i] <= first_copies[i - 1]) {
        violation("%s: attributes %zu begin at copy %zu, which is not behind copy %zu", call, i,
                  first_copies[i], first_copies[i - 1]);
        return CUDA_ERROR_INVALID_VALUE;
      }
      if (first_copies[i] >= count) {
        violation("%s: attributes %zu begin at copy %zu of %zu", call, i, first_copies[i], count);
        return CUDA_ERROR_INVALID_VALUE;
      }
      if (order < kStream || order > kAny || attributes[i].flags > kPreferOverlap) {
        violation("%s: attributes %zu have source order %u and flags %u", call, i, order,
                  attributes[i].flags);
        return CUDA_ERROR_INVALID_VALUE;
      }
    }
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// Whose memory an address is: a device's, or with null the host's.
CUresult Batch::side(CUdeviceptr address, size_t size, Device*& device) {
  std::shared_ptr<Allocation> under = find(address);
  if (under && under->on_device()) {
    return device_range(call, address, size, uses, device);
  }
  bool pageable = false;
  CUresult error = host_range(call, reinterpret_cast<void*>(address), size, uses, pageable);
  if (!error && pageable) {
    note("%s of %zu bytes of pageable memory at %#llx", call, size, address);
  }
  return error;
}

CUresult Batch::check_copy(size_t index, const CopyAttributes& attribute) {
  static Function& each = function("batched_copy");
  if (auto injected = static_cast<CUresult>(each.count())) {
    return injected;
  }
  if (destinations[index] == 0 || sources[index] == 0 || sizes[index] == 0) {
    violation("%s: copy %zu of %zu bytes from %#llx to %#llx", call, index, sizes[index],
              sources[index], destinations[index]);
    return CUDA_ERROR_INVALID_VALUE;
  }
  Device* to = nullptr;
  Device* from = nullptr;
  if (CUresult error = side(destinations[index], sizes[index], to)) {
    return error;
  }
  if (CUresult error = side(sources[index], sizes[index], from)) {
    return error;
  }
  Link link = from == nullptr  ? kHostToDevice
              : to == nullptr ? kDeviceToHost
              : to == from    ? kOnDevice
                              : kToPeer;
  BatchedCopy copy{destinations[index], sources[index], sizes[index], link};
  if (attribute.source_order != kStream) {
    if (from != nullptr) {
      violation("%s: copy %zu reads memory of device %d out of the stream's order", call, index,
                from->ordinal);
    }
    copy.early.assign(bytes(copy.source), bytes(copy.source) + copy.size);
  }
  copies.push_back(std::move(copy));
  return CUDA_SUCCESS;
}

// Whether a copy writes what another one reads or writes.
CUresult Batch::check_overlaps() const {
  std::vector<Range> ranges;
  for (const BatchedCopy& copy : copies) {
    ranges.push_back({copy.destination, copy.destination + copy.size, true});
    ranges.push_back({copy.source, copy.source + copy.size, false});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& one, const Range& other) { return one.begin < other.begin; });
  uintptr_t read_until = 0;
  uintptr_t written_until = 0;
  for (const Range& range : ranges) {
    if (range.begin < written_until || (range.written && range.begin < read_until)) {
      violation("%s: copies overlap at %#lx, and have no order among themselves", call, range.begin);
      return CUDA_ERROR_INVALID_VALUE;
    }
    uintptr_t& until = range.written ? written_until : read_until;
    until = std::max(until, range.end);
  }
  return CUDA_SUCCESS;
}

CUresult Batch::check(size_t& failed) {
  failed = SIZE_MAX;
  if (CUresult error = check_arguments()) {
    return error;
  }
  Locked locked;
  size_t attribute = 0;
  for (size_t i = 0; i < count; i++) {
    if (attribute + 1 < attribute_count && first_copies[attribute + 1] == i) {
      attribute++;
    }
    if (CUresult error = check_copy(i, attributes[attribute])) {
      failed = i;
      return error;
    }
  }
  return check_overlaps();
}

CUresult Batch::submit(const std::shared_ptr<Stream>& stream) {
  if (copies.empty()) {
    return CUDA_SUCCESS;
  }
  Device& device = *stream->context->device;
  auto all = std::make_shared<std::vector<BatchedCopy>>(std::move(copies));
  return stream->submit({[&device, all] {
                           Clock::time_point start = Clock::now();
                           std::array<size_t, kLinks> moved{};
                           for (auto copy = all->rbegin(); copy != all->rend(); ++copy) {
                             bool early = !copy->early.empty();
                             memmove(bytes(copy->destination),
                                     early ? copy->early.data() : bytes(copy->source), copy->size);
                             moved[copy->link] += copy->size;
                           }
                           for (int link = 0; link < kLinks; link++) {
                             if (moved[static_cast<size_t>(link)] > 0) {
                               take_time(device, static_cast<Link>(link),
                                         moved[static_cast<size_t>(link)], start);
                             }
                           }
                         },
                         std::move(uses)});
}

// As a driver may: copies before the one that is refused are carried out.
CUresult run(Batch batch, CUstream handle, size_t& failed) {
  failed = SIZE_MAX;
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(handle, batch.call, stream)) {
    return error;
  }
  CUresult refused = batch.check(failed);
  if (refused && failed == SIZE_MAX) {
    return refused;
  }
  CUresult submitted = batch.submit(stream);
  return refused ? refused : submitted;
}

}  // namespace

CUresult cuMemcpyBatchAsync(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                            CopyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                            size_t* failIdx, CUstream hStream) {
  ENTER_CONTEXT
  if (failIdx == nullptr) {
    violation("%s: there is no place for the number of the copy that fails", __func__);
    return CUDA_ERROR_INVALID_VALUE;
  }
  return run({__func__, dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs}, hStream, *failIdx);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                               CopyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                               CUstream hStream) {
  ENTER_CONTEXT
  size_t failed;
  return run({__func__, dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs}, hStream, failed);
}

}  // namespace sim
