package dev.tidepool.runtime.buffer;

import dev.tidepool.Capability;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.storage.HoldCounts.Hold;
import dev.tidepool.runtime.storage.Storage;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The host's bytes of a buffer, which stay at their address until the hold ends, even if the buffer
 * is closed before. Unlike with a mapping, other operations on the buffer continue. Native code
 * sees the bytes of {@link UnifiedBuffer#asSegment()}.
 *
 * <p>A hold refers to the buffer's handle, so that a held buffer is never unreachable. Thread-safe.
 */
public final class HostHold {
  private final MemorySegment bytes;
  private final Hold hold;
  // The reference keeps the buffer reachable.
  private final AtomicReference<@Nullable UnifiedBuffer<?>> held;

  private HostHold(MemorySegment bytes, Hold hold, UnifiedBuffer<?> buffer) {
    this.bytes = bytes;
    this.hold = hold;
    this.held = new AtomicReference<>(buffer);
  }

  /**
   * Fetches the newest bytes, in the order of the buffer's queue, and holds them. The memory of a
   * buffer that a program implements itself stays as long as its segment.
   *
   * @param writing whether the holder writes the bytes; the device's bytes are outdated from now on
   * @throws IllegalStateException if the buffer is closed
   * @throws IllegalArgumentException if the buffer is not of this library and its segment is on the
   *     heap or belongs to one thread
   * @throws UnsupportedOperationException if {@code writing} and the buffer is read-only
   */
  public static HostHold of(UnifiedBuffer<?> buffer, boolean writing) {
    if (!(buffer instanceof BufferHandle<?> handle)) {
      return ofForeign(buffer, writing);
    }
    handle.checkOpen();
    Storage storage = handle.storage();
    Hold hold = kind(writing);
    storage.hold(hold);
    try {
      MemorySegment bytes = writing ? handle.asSegment() : handle.asReadOnlySegment();
      return new HostHold(bytes, hold, handle);
    } catch (RuntimeException | Error e) {
      storage.unhold(hold);
      throw e;
    }
  }

  private static HostHold ofForeign(UnifiedBuffer<?> buffer, boolean writing) {
    MemorySegment bytes = ForeignBytes.of(buffer, false);
    if (!bytes.isNative()) {
      throw new IllegalArgumentException(
          "native code cannot use the memory of "
              + buffer
              + ", which is on the heap; copy it with copyOf");
    }
    if (writing && buffer.asSegment().isReadOnly()) {
      throw new UnsupportedOperationException(buffer + " may only be read");
    }
    return new HostHold(bytes, kind(writing), buffer);
  }

  /**
   * Returns whether the buffer's accelerator computes in host memory; true for a buffer that a
   * program implements itself.
   */
  public static boolean isOnHost(UnifiedBuffer<?> buffer) {
    return ForeignBytes.isForeign(buffer)
        || buffer.accelerator().capabilities().contains(Capability.SHARED_MEMORY);
  }

  /** Casts a buffer of this library to its handle. */
  static BufferHandle<?> handle(UnifiedBuffer<?> buffer) {
    if (buffer instanceof BufferHandle<?> handle) {
      return handle;
    }
    throw new IllegalArgumentException(
        "only buffers of this library have memory of a device, and this is a "
            + buffer.getClass().getName());
  }

  public long address() {
    return bytes.address();
  }

  /** Returns the bytes, which must not be used after the end. */
  public MemorySegment bytes() {
    return bytes;
  }

  /** Ends the hold; frees the memory if the buffer was closed. Idempotent; does not wait. */
  public void end() {
    UnifiedBuffer<?> buffer = held.getAndSet(null);
    if (buffer instanceof BufferHandle<?> handle) {
      try {
        handle.storage().unhold(hold);
      } finally {
        // Reachable until here: else the storage could be reclaimed at the same time.
        Reference.reachabilityFence(buffer);
      }
    }
  }

  private static Hold kind(boolean writing) {
    return writing ? Hold.HOST_WRITTEN : Hold.HOST;
  }
}
