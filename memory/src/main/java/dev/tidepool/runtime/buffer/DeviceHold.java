package dev.tidepool.runtime.buffer;

import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.storage.Coherence;
import dev.tidepool.runtime.storage.HoldCounts.Hold;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.NativeMemory;
import java.lang.ref.Reference;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The device's bytes of a buffer, which stay in place until the hold ends, even if the buffer is
 * closed before. Other operations on the buffer continue. {@link HostHold} does the same on the
 * host.
 *
 * <p>A hold refers to the buffer's handle, so that a held buffer is never unreachable. Thread-safe.
 */
public final class DeviceHold {
  private final BufferHandle<?> buffer;
  private final NativeMemory memory;
  // Null once it has ended.
  private final AtomicReference<@Nullable Storage> held;

  private DeviceHold(BufferHandle<?> buffer, NativeMemory memory) {
    this.buffer = buffer;
    this.memory = memory;
    this.held = new AtomicReference<>(buffer.storage());
  }

  /**
   * Brings the newest bytes to the device, by an operation in the buffer's queue, and holds them.
   *
   * @param writing whether the holder writes the bytes; the host's bytes are outdated from now on
   * @param atStart whether a memory object must begin with the bytes
   * @throws IllegalStateException if the buffer is closed, or mapped or lent for a conflicting
   *     access
   * @throws IllegalArgumentException if the buffer is not of this library, or the driver creates no
   *     such handle for this part of the memory
   * @throws UnsupportedOperationException if the device has no handles, or none of that kind, or
   *     the buffer is read-only
   */
  public static DeviceHold of(UnifiedBuffer<?> buffer, boolean writing, boolean atStart) {
    BufferHandle<?> handle = HostHold.handle(buffer);
    StackReserve.check();
    handle.checkOpen();
    Storage storage = handle.storage();
    storage.hold(Hold.DEVICE);
    NativeMemory made = null;
    try {
      made = fetched(handle, storage, writing, atStart);
      return new DeviceHold(handle, made);
    } catch (RuntimeException | Error e) {
      try {
        if (made != null) {
          made.release().run();
        }
      } finally {
        storage.unhold(Hold.DEVICE);
      }
      throw e;
    }
  }

  private static NativeMemory fetched(
      BufferHandle<?> handle, Storage storage, boolean writing, boolean atStart) {
    StorageContext context = storage.context();
    NativeMemory[] made = new NativeMemory[1];
    storage
        .transfer(
            ResourceAccess.onDevice(storage, writing),
            handle.guarded(
                () -> made[0] = onDevice(handle, context, storage.coherence(), writing, atStart),
                "exporting"))
        .perform(storage.runsHere());
    return Objects.requireNonNull(made[0], "the work has made it");
  }

  private static NativeMemory onDevice(
      BufferHandle<?> handle,
      StorageContext context,
      Coherence coherence,
      boolean writing,
      boolean atStart) {
    long from = handle.from();
    long to = handle.to();
    Block block =
        writing ? coherence.deviceForWrite(from, to, false) : coherence.deviceForRead(from, to);
    NativeMemory made = lend(context.device(), block, from, to - from, atStart);
    if (writing) {
      try {
        coherence.state().deviceWritten(from, to);
      } catch (RuntimeException | Error e) {
        made.release().run();
        throw e;
      }
    }
    return made;
  }

  /** Lends memory. Importers of OpenCL memory accept buffer objects, not SVM pointers. */
  private static NativeMemory lend(
      Device device, Block block, long from, long length, boolean atStart) {
    // OpenCL has no objects of 0 bytes: the first byte of the block stands for an empty range.
    long start = length == 0 ? 0 : block.start() + from;
    long bytes = Math.max(length, 1);
    NativeMemory made = device.lend(block.whole(), start, bytes, null);
    NativeHandle handle = made.handle();
    boolean isObject = handle.kind() == NativeKind.OPENCL_BUFFER;
    if (handle.kind() != NativeKind.OPENCL_SVM && !(isObject && atStart && handle.offset() > 0)) {
      return made;
    }
    made.release().run();
    return device.lend(block.whole(), start, bytes, NativeKind.OPENCL_BUFFER);
  }

  /** Returns the handle of the bytes. */
  public NativeHandle handle() {
    return memory.handle();
  }

  /**
   * Returns the number of the device among those of its kind. For CUDA it is the driver's number,
   * which also counts devices that the library does not use.
   */
  public int deviceNumber() {
    if (handle().kind() == NativeKind.CUDA_POINTER) {
      return Math.toIntExact(buffer.storage().context().device().deviceHandle());
    }
    String id = buffer.accelerator().id();
    return Integer.parseInt(id.substring(id.lastIndexOf(':') + 1));
  }

  /** Ends the hold; frees the memory if the buffer was closed. Idempotent; does not wait. */
  public void end() {
    Storage storage = held.getAndSet(null);
    if (storage != null) {
      try {
        memory.release().run();
      } finally {
        unhold(storage);
      }
    }
  }

  private void unhold(Storage storage) {
    try {
      storage.unhold(Hold.DEVICE);
    } finally {
      // Reachable until here: else the storage could be reclaimed at the same time.
      Reference.reachabilityFence(buffer);
    }
  }
}
