package dev.tidepool.metal;

import dev.tidepool.MemoryInfo;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.support.Closing;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a device. This class chooses where each kind of block is allocated, and how much
 * may be in use. Metal reports how much memory of a device this process uses, and how much it
 * should use at most.
 *
 * <p>Safe for use by any thread.
 */
final class DeviceMemory {
  /** The pages of Apple's processors; other Macs have smaller ones. */
  static final long PAGE = 16 << 10;

  // The least alignment of the contents of any buffer.
  private static final long ALIGNMENT = 16;

  private final String name;
  private final DeviceProperties device;
  private final boolean shared;
  private final HostBuffers hostBuffers = new HostBuffers();
  // Guarded by this.
  private @Nullable StagingReserve reserve;

  DeviceMemory(String name, DeviceProperties device, Settings settings) {
    this.name = name;
    this.device = device;
    this.shared =
        switch (settings.storage()) {
          case AUTO -> device.unified();
          case SHARED -> true;
          case PRIVATE -> false;
        };
  }

  /** Returns whether DEVICE blocks are in memory that the host can access. */
  boolean isShared() {
    return shared;
  }

  /** Returns the device's handle. */
  long device() {
    return device.handle();
  }

  MemoryInfo info() {
    long total = device.workingSet();
    return new MemoryInfo(
        total, Math.max(0, total - Metal.currentAllocatedSize(device.handle())), true);
  }

  /** Allocates a block. */
  MetalBlock allocate(long bytes, long alignment, BlockKind kind) {
    if (bytes < 1 || Long.bitCount(alignment) != 1) {
      throw new IllegalArgumentException(
          "a block of " + bytes + " bytes aligned to " + alignment + " cannot be");
    }
    boolean isPrivate = kind == BlockKind.DEVICE && !shared;
    if (isPrivate && alignment > PAGE) {
      throw new UnsupportedOperationException(
          name
              + " aligns its memory to "
              + PAGE
              + " bytes and no more; "
              + alignment
              + " were asked for");
    }
    long spare = !isPrivate && alignment > ALIGNMENT ? alignment : 0;
    long buffer = buffer(bytes, spare, isPrivate ? Metal.PRIVATE : Metal.SHARED);
    return blockOf(
        buffer,
        () -> {
          if (isPrivate) {
            return new MetalBlock(this, buffer, 0, bytes, null, true);
          }
          MemorySegment contents = contents(buffer, bytes + spare);
          long start = -contents.address() & (alignment - 1);
          return reached(buffer, start, contents.asSlice(start, bytes), true);
        });
  }

  /** Creates a block of an owned buffer; releases the buffer if that fails. */
  private static MetalBlock blockOf(long buffer, Supplier<MetalBlock> steps) {
    try {
      return steps.get();
    } catch (RuntimeException | Error failed) {
      Closing.surviving("release", () -> NativeCall.release(ObjectKind.BUFFER, buffer));
      throw failed;
    }
  }

  private MetalBlock reached(long buffer, long start, MemorySegment memory, boolean own) {
    MetalBlock block = new MetalBlock(this, buffer, start, memory.byteSize(), memory, own);
    hostBuffers.add(memory, block);
    return block;
  }

  /** Returns a buffer that the host can access, which the caller releases. */
  long staging(long bytes) {
    return buffer(bytes, 0, Metal.SHARED);
  }

  /**
   * Returns the reserve for copies without a staging buffer. Creates it if there is room; otherwise
   * returns null.
   */
  synchronized @Nullable StagingReserve reserve() {
    if (reserve == null) {
      try {
        reserve = new StagingReserve(this);
      } catch (OutOfDeviceMemoryException full) {
        return null;
      }
    }
    return reserve;
  }

  /** Releases the reserve; called when no queue is left. */
  synchronized void close() {
    if (reserve != null) {
      reserve.close();
    }
  }

  /** Returns a buffer that only kernels access, which the caller releases. */
  long scratch(long bytes) {
    return buffer(bytes, 0, shared ? Metal.SHARED : Metal.PRIVATE);
  }

  /** Returns the bytes of a buffer that the host can access, without a scope. */
  MemorySegment contents(long buffer, long bytes) {
    long address = Metal.contents(buffer);
    if (address == 0) {
      throw new UnsupportedOperationException(
          name
              + " gave shared memory that the host does not reach; set"
              + " tidepool.metal.storage=private");
    }
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  /**
   * Returns a buffer.
   *
   * @param spare additional bytes, for an aligned start
   */
  private long buffer(long bytes, long spare, long storage) {
    if (bytes > device.maxBuffer() - spare) {
      throw outOfMemory(
          bytes,
          "a buffer has at most "
              + device.maxBuffer()
              + " bytes there; use several buffers, or stream in chunks");
    }
    if (bytes > info().freeBytes() - spare) {
      throw outOfMemory(
          bytes,
          "the working set would be more than the "
              + device.workingSet()
              + " bytes that the device recommends");
    }
    long buffer = Metal.newBuffer(device.handle(), bytes + spare, storage);
    if (buffer == 0) {
      throw outOfMemory(bytes, "newBufferWithLength:options: answered nil");
    }
    return buffer;
  }

  private OutOfDeviceMemoryException outOfMemory(long bytes, String why) {
    MemoryInfo now = info();
    return new OutOfDeviceMemoryException(
        name
            + " cannot allocate "
            + bytes
            + " bytes: "
            + why
            + " (about "
            + now.freeBytes()
            + " of "
            + now.totalBytes()
            + " bytes are free)",
        bytes,
        now.freeBytes(),
        now.totalBytes(),
        -1);
  }

  /** Returns a block over a buffer of other code, which is retained until the block is freed. */
  MetalBlock adopt(long buffer, long bytes) {
    NativeCall.retain(ObjectKind.BUFFER, buffer);
    return blockOf(
        buffer,
        () ->
            Metal.storageMode(buffer) == Metal.STORAGE_MODE_SHARED && shared
                ? reached(buffer, 0, contents(buffer, bytes), true)
                : new MetalBlock(this, buffer, 0, bytes, null, true));
  }

  /**
   * Returns a block over memory of the host that stays until the block is freed; null if Metal
   * cannot use the memory in place, which requires whole pages.
   */
  @Nullable MetalBlock over(MemorySegment memory) {
    long bytes = memory.byteSize();
    boolean fits = bytes > 0 && bytes <= device.maxBuffer();
    if (!shared || !fits || memory.address() % PAGE != 0 || bytes % PAGE != 0) {
      return null;
    }
    long buffer = Metal.newBufferWithBytesNoCopy(device.handle(), memory);
    return buffer == 0 ? null : blockOf(buffer, () -> reached(buffer, 0, memory, false));
  }

  void forget(MetalBlock block) {
    if (block.segment() != null) {
      hostBuffers.remove(Objects.requireNonNull(block.segment()));
    }
  }

  HostBuffers hostBuffers() {
    return hostBuffers;
  }
}
