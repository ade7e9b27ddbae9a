package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import dev.tidepool.cuda.ipc.DescriptorExchange;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.FailureLog;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Device memory that is mapped piece by piece into one segment of reserved addresses.
 *
 * <p>A block requests its memory in one piece. If the device has no such piece left, the block
 * takes smaller ones, down to the driver's granularity (2 MiB), and maps them side by side.
 * Scattered free memory thus becomes one block, and fragmentation costs no memory. The segment is
 * reserved once, {@value #ROOM} times as large as the card, and only grows by what is mapped in it:
 * no block ever moves, and none is copied to free memory. PyTorch's expandable segments do the
 * same.
 *
 * <p>No memory is kept: the memory of freed blocks is returned to the driver, and is free for all
 * processes. Handles are released after mapping, because the mapping holds the memory.
 *
 * <p>Thread-safe. No lock is taken with a context pushed.
 */
final class MappedMemory {
  private static final int ROOM = 4;

  private final int device;
  private final Context context;
  private final long granularity;
  private final AddressRange addresses;
  // The devices that can access the memory, this one included.
  private final Set<Integer> reachedBy = new CopyOnWriteArraySet<>();
  // The pieces of each block, by its address.
  private final Map<Long, List<Long>> blocks = new ConcurrentHashMap<>();

  private MappedMemory(int device, Context context, long granularity, AddressRange addresses) {
    this.device = device;
    this.context = context;
    this.granularity = granularity;
    this.addresses = addresses;
    reachedBy.add(device);
  }

  /** Reserves the segment; null if the driver refuses it. The context is current. */
  static @Nullable MappedMemory reserve(DeviceProperties device, Context context) {
    try {
      long granularity = VirtualMemoryCalls.cuMemGetAllocationGranularity(device.handle());
      long bytes = up(ROOM * device.totalMemory(), granularity);
      long start = VirtualMemoryCalls.cuMemAddressReserve(bytes);
      return new MappedMemory(
          device.handle(), context, granularity, new AddressRange(start, bytes));
    } catch (AcceleratorException | UnsupportedOperationException refused) {
      FailureLog.ofDriver(
          MappedMemory.class, Level.INFO, device.name(), " does without virtual memory", refused);
      return null;
    }
  }

  /** Returns whether a block has at least the driver's granularity. */
  boolean serves(long bytes) {
    return bytes >= granularity;
  }

  /**
   * Returns whether rounding to the granularity wastes at most an eighth, as much as a pool may
   * waste.
   */
  boolean suits(long bytes) {
    return serves(bytes) && up(bytes, granularity) - bytes <= bytes / 8;
  }

  /**
   * Maps memory for a block; no context is pushed.
   *
   * @return its address
   * @throws AcceleratorException if there is not so much memory, even in small pieces
   */
  long allocate(long bytes, long alignment) {
    long size = up(bytes, granularity);
    long address = claim(size, Math.max(alignment, granularity));
    List<Long> pieces = new ArrayList<>();
    try {
      context.run(() -> mapPieces(address, size, pieces));
    } catch (RuntimeException | Error failed) {
      abandon(address, size, pieces);
      throw failed;
    }
    blocks.put(address, pieces);
    return address;
  }

  /** Undoes the mappings of a failed call. If the driver refuses, the addresses stay in use. */
  private void abandon(long address, long size, List<Long> pieces) {
    Closing.surviving(
        () -> {
          if (!pieces.isEmpty()) {
            context.run(() -> unmap(address, pieces));
          }
          addresses.giveBack(address, size);
        });
  }

  /** Creates memory that processes share. */
  @FunctionalInterface
  private interface Handle {
    /** Returns a handle, which is released after it is mapped. */
    long of(long bytes);
  }

  /**
   * Memory in one piece, with a descriptor that the caller closes.
   *
   * @param address the start of its mapping
   */
  record Exported(long address, int descriptor) {}

  /** Allocates memory of this device that other processes can import; no context is pushed. */
  Exported export(long bytes) {
    AtomicInteger descriptor = new AtomicInteger(-1);
    try {
      long address =
          whole(
              bytes,
              size -> {
                long memory = VirtualMemoryCalls.cuMemCreate(device, size, true);
                try {
                  descriptor.set(VirtualMemoryCalls.cuMemExportToShareableHandle(memory));
                  return memory;
                } catch (RuntimeException | Error failed) {
                  Closing.surviving(() -> VirtualMemoryCalls.cuMemRelease(memory));
                  throw failed;
                }
              });
      return new Exported(address, descriptor.get());
    } catch (RuntimeException | Error failed) {
      if (descriptor.get() >= 0) {
        DescriptorExchange.discard(descriptor.get());
      }
      throw failed;
    }
  }

  /** Maps memory that another process has exported; returns its address. */
  long importFrom(int descriptor, long bytes) {
    return whole(bytes, _ -> VirtualMemoryCalls.cuMemImportFromShareableHandle(descriptor));
  }

  private long whole(long bytes, Handle handle) {
    long size = up(bytes, granularity);
    long address = claim(size, granularity);
    List<Long> pieces = new ArrayList<>();
    try {
      context.run(
          () -> {
            map(address, size, handle.of(size));
            pieces.add(size);
            letIn(address, size);
          });
    } catch (RuntimeException | Error failed) {
      abandon(address, size, pieces);
      throw failed;
    }
    blocks.put(address, pieces);
    return address;
  }

  private void letIn(long address, long size) {
    VirtualMemoryCalls.cuMemSetAccess(address, size, new TreeSet<>(reachedBy));
  }

  /** Maps memory and releases its handle, also if mapping fails. */
  private static void map(long address, long size, long memory) {
    try {
      VirtualMemoryCalls.cuMemMap(address, size, memory);
    } finally {
      Closing.surviving(() -> VirtualMemoryCalls.cuMemRelease(memory));
    }
  }

  private long claim(long size, long alignment) {
    return addresses.claim(size, alignment).orElseThrow(() -> full("cuMemAddressReserve"));
  }

  /** Records each piece once it is mapped. */
  private void mapPieces(long address, long size, List<Long> pieces) {
    if (Cuda.cuMemGetInfo()[0] < size) {
      // Otherwise all remaining memory would be taken for a moment, piece by piece, for nothing.
      throw full("cuMemCreate");
    }
    long piece = size;
    for (long at = 0; at < size; at += piece) {
      piece = create(address + at, Math.min(piece, size - at));
      pieces.add(piece);
    }
    letIn(address, size);
  }

  /** Maps the largest available piece of at most a number of bytes; returns its bytes. */
  private long create(long address, long most) {
    long piece = most;
    for (; ; ) {
      try {
        map(address, piece, VirtualMemoryCalls.cuMemCreate(device, piece, false));
        return piece;
      } catch (AcceleratorException refused) {
        if (refused.code() != ErrorCodes.CUDA_ERROR_OUT_OF_MEMORY || piece == granularity) {
          throw refused;
        }
        piece = up(piece / 2, granularity);
      }
    }
  }

  private static AcceleratorException full(String call) {
    return NativeCall.failure(call, ErrorCodes.CUDA_ERROR_OUT_OF_MEMORY);
  }

  /**
   * Frees a block's memory; no context is pushed. If the driver refuses, the addresses are not used
   * again.
   */
  void free(long address) {
    List<Long> pieces = Objects.requireNonNull(blocks.remove(address), "a block of this memory");
    context.run(() -> unmap(address, pieces));
    addresses.giveBack(address, pieces.stream().mapToLong(Long::longValue).sum());
  }

  private static void unmap(long address, List<Long> pieces) {
    long at = address;
    @Nullable RuntimeException failed = null;
    for (long piece : pieces) {
      try {
        VirtualMemoryCalls.cuMemUnmap(at, piece);
      } catch (AcceleratorException refused) {
        failed = refused;
      }
      at += piece;
    }
    if (failed != null) {
      throw failed;
    }
  }

  /** Lets another device access future blocks, or not; existing blocks stay as they are. */
  void share(int peer, boolean reachable) {
    if (reachable) {
      reachedBy.add(peer);
    } else {
      reachedBy.remove(peer);
    }
  }

  /** Frees the segment; its blocks are gone. */
  void close() {
    Closing.surviving(
        () -> VirtualMemoryCalls.cuMemAddressFree(addresses.start(), addresses.bytes()));
  }

  private static long up(long bytes, long unit) {
    return Math.ceilDiv(bytes, unit) * unit;
  }
}
