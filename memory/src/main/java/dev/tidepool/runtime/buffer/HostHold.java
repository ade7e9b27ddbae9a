package dev.tidepool.runtime.buffer;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.storage.Storage;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The host's bytes of a buffer, which stay at their address until this ends, though the buffer may
 * be closed before. Unlike a mapping it keeps no work off: what native code sees is what {@link
 * UnifiedBuffer#asSegment()} shows.
 *
 * <p>It refers to the buffer's handle, so that a held buffer is never unreachable. Safe for use by
 * any thread.
 */
public final class HostHold {
  private final MemorySegment bytes;
  // The handle is kept for the collector to see.
  private final AtomicReference<@Nullable BufferHandle<?>> held;

  private HostHold(MemorySegment bytes, BufferHandle<?> buffer) {
    this.bytes = bytes;
    this.held = new AtomicReference<>(buffer);
  }

  /**
   * Fetches the newest bytes, after all work that was asked for, and holds them.
   *
   * @param writing whether the holder writes them, so that the device's become old now
   * @throws IllegalStateException if the buffer is closed
   * @throws IllegalArgumentException if the buffer is not of this library
   */
  public static HostHold of(UnifiedBuffer<?> buffer, boolean writing) {
    BufferHandle<?> handle = handle(buffer);
    handle.checkOpen();
    Storage storage = handle.storage();
    storage.hold();
    try {
      MemorySegment bytes = writing ? handle.asSegment() : handle.asReadOnlySegment();
      return new HostHold(bytes, handle);
    } catch (RuntimeException | Error e) {
      storage.unhold();
      throw e;
    }
  }

  /** The handle that a buffer is, if it is one of this library. */
  static BufferHandle<?> handle(UnifiedBuffer<?> buffer) {
    if (buffer instanceof BufferHandle<?> handle) {
      return handle;
    }
    throw new IllegalArgumentException(
        "only buffers of this library have memory to export, and this is a "
            + buffer.getClass().getName());
  }

  /** The address of the first byte. */
  public long address() {
    return bytes.address();
  }

  /** The bytes, not to be used after the end. */
  public MemorySegment bytes() {
    return bytes;
  }

  /** Ends the hold; frees the memory if the buffer was closed. Idempotent; does not wait. */
  public void end() {
    BufferHandle<?> buffer = held.getAndSet(null);
    if (buffer != null) {
      try {
        buffer.storage().unhold();
      } finally {
        // Not unreachable before: the storage would be reclaimed beside that.
        Reference.reachabilityFence(buffer);
      }
    }
  }
}
