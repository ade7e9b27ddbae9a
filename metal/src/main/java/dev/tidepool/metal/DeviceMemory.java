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
 * A device's memory: where each kind of block lies, and how much is taken. Metal tells what this
 * process has of a device, and how much it should have at most.
 *
 * <p>Safe for use by any thread.
 */
final class DeviceMemory {
  /** The pages of Apple's processors; other Macs have smaller ones. */
  static final long PAGE = 16 << 10;

  // What Metal aligns the contents of every buffer to at least.
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

  /** Returns whether DEVICE blocks are in memory that the host reaches. */
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

  /** Allocates. */
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

  /** Makes a block of an owned buffer, which is released if that fails. */
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

  /** Returns a buffer that the host reaches, which the caller releases. */
  long staging(long bytes) {
    return buffer(bytes, 0, Metal.SHARED);
  }

  /**
   * Returns what copies use without a staging buffer: made by the first queue that has room for it.
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

  /** Gives back what it holds itself, when no queue is left. */
  synchronized void close() {
    if (reserve != null) {
      reserve.close();
    }
  }

  /** Returns a buffer for kernels alone, which the caller releases. */
  long scratch(long bytes) {
    return buffer(bytes, 0, shared ? Metal.SHARED : Metal.PRIVATE);
  }

  /** Returns the bytes of a buffer that the host reaches, without a scope. */
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
   * @param spare bytes besides, for an aligned start
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

  /** Returns a block over a buffer of other code, which is held until the block is freed. */
  MetalBlock adopt(long buffer, long bytes) {
    Foundation.retain(buffer);
    ObjectKind.LIVE.created(ObjectKind.BUFFER);
    return blockOf(
        buffer,
        () ->
            Metal.storageMode(buffer) == Metal.STORAGE_MODE_SHARED && shared
                ? reached(buffer, 0, contents(buffer, bytes), true)
                : new MetalBlock(this, buffer, 0, bytes, null, true));
  }

  /**
   * A block over memory of the host that stays until the block is freed; null if Metal cannot use
   * it in place, which wants whole pages.
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
