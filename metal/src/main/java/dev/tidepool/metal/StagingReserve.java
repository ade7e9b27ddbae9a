package dev.tidepool.metal;

import dev.tidepool.spi.Event;
import dev.tidepool.spi.EventWait;
import dev.tidepool.spi.support.Closing;
import java.lang.foreign.MemorySegment;

/**
 * A small buffer of a device for copies that find no memory for a staging buffer of their size. It
 * lets bytes leave a device that is full, and reach one. Such a copy proceeds piece by piece, and
 * has ended when the call returns.
 *
 * <p>Safe for use by any thread; one copy at a time uses the buffer.
 */
final class StagingReserve implements AutoCloseable {
  private static final long BYTES = 16 << 10;

  private final long buffer;
  private final MemorySegment memory;

  /**
   * Allocates the buffer.
   *
   * @throws dev.tidepool.OutOfDeviceMemoryException if the device has no room
   */
  StagingReserve(DeviceMemory device) {
    this.buffer = device.staging(BYTES);
    try {
      this.memory = device.contents(buffer, BYTES);
    } catch (RuntimeException | Error unmapped) {
      NativeCall.release(ObjectKind.BUFFER, buffer);
      throw unmapped;
    }
  }

  /** Submits the copy of a piece between the buffer's start and a block. */
  interface Piece {
    Event submit(long buffer, long at, long bytes);
  }

  /** Copies memory of the host to a block. */
  synchronized void write(MemorySegment source, Piece piece) {
    for (long at = 0; at < source.byteSize(); at += BYTES) {
      long bytes = Math.min(BYTES, source.byteSize() - at);
      MemorySegment.copy(source, at, memory, 0, bytes);
      finish(piece.submit(buffer, at, bytes));
    }
  }

  /** Copies from a block to memory of the host. */
  synchronized void read(MemorySegment destination, Piece piece) {
    for (long at = 0; at < destination.byteSize(); at += BYTES) {
      long bytes = Math.min(BYTES, destination.byteSize() - at);
      finish(piece.submit(buffer, at, bytes));
      MemorySegment.copy(memory, 0, destination, at, bytes);
    }
  }

  private static void finish(Event event) {
    try (event) {
      EventWait.untilEnded(event);
    }
  }

  @Override
  public void close() {
    Closing.surviving("release", () -> NativeCall.release(ObjectKind.BUFFER, buffer));
  }
}
