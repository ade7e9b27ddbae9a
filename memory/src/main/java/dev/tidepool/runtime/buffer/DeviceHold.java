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
 * The device's bytes of a buffer, which stay where they are until this ends, even if the buffer is
 * closed before. Other work on the buffer goes on. {@link HostHold} is the same on the host.
 *
 * <p>It refers to the buffer's handle, so that a held buffer is never unreachable. Thread-safe.
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
   * Brings the newest bytes to the device, after all work that was asked for has ended, and holds
   * them.
   *
   * @param writing whether the holder writes them, which outdates the host's bytes now
   * @param atStart whether a memory object must begin with the bytes
   * @throws IllegalStateException if the buffer is closed, mapped or lent
   * @throws IllegalArgumentException if the buffer is not of this library, or the driver makes no
   *     such handle of this part of the memory
   * @throws UnsupportedOperationException if the device has no handles, or none of that kind, or
   *     the buffer may only be read
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

  /** Lends memory. Importers take OpenCL buffer objects, not SVM pointers. */
  private static NativeMemory lend(
      Device device, Block block, long from, long length, boolean atStart) {
    // OpenCL has no objects of 0 bytes: of no bytes it is the first one of the block.
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

  /** Where the bytes are. */
  public NativeHandle handle() {
    return memory.handle();
  }

  /**
   * Returns the number of the device among those of its kind. CUDA's is the driver's, which also
   * counts devices that were left out.
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
      // Reachable until here, or the storage would be reclaimed at the same time.
      Reference.reachabilityFence(buffer);
    }
  }
}
