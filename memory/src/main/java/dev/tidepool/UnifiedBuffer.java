package dev.tidepool;

import dev.tidepool.diagnostics.BufferMetrics;
import dev.tidepool.diagnostics.LostResultReport;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.CompletableFuture;

/**
 * Typed memory that is on the host, on an accelerator, or on both, and kept coherent.
 *
 * {@snippet :
 * float[] array = {1, 2, 3, 4};
 * try (UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, 8)) {
 *   buffer.copyFrom(array); // elements 0 to 3
 *   buffer.slice(4, 4).copyFrom(array); // elements 4 to 7
 *   buffer.copyTo(6, array, 0, 2); // elements 6 and 7, to the front of the array
 *   MemorySegment onHost = buffer.asReadOnlySegment();
 * }
 * }
 *
 * <p><b>Units.</b> Offsets, counts and lengths are in elements, everywhere; only {@link
 * #byteSize()} is in bytes.
 *
 * <p><b>Order.</b> Work on one buffer happens in the order it was asked for, whatever thread asked;
 * work on unrelated buffers overlaps. A failed write fails the work queued behind it on that buffer
 * with the same cause.
 *
 * <p><b>Threads.</b> Safe for concurrent use by platform and virtual threads alike. {@code void}
 * operations return when done, except for prefetches: the first use that begins after one has
 * failed throws its error. Futures complete on the library's threads; cancelling one stops what has
 * not started. An array or segment given to an asynchronous operation must stay untouched until its
 * future completes.
 *
 * <p><b>Errors.</b> Every method of a closed buffer but {@link #close()} throws {@link
 * IllegalStateException} naming the buffer's tag; ranges outside the buffer or the array throw
 * {@link IndexOutOfBoundsException}; failed transfers throw {@link TransferException}; an
 * accelerator without room for the copy that is needed throws {@link OutOfDeviceMemoryException}.
 *
 * <p>The interface may be implemented by others, best by extending {@link AbstractUnifiedBuffer}: a
 * foreign buffer works as the source of copies through its {@link #asReadOnlySegment()}.
 *
 * @param <A> the Java array that carries elements
 */
public interface UnifiedBuffer<A> extends AutoCloseable {
  /** Returns what one element is. */
  ElementType<A> elementType();

  /** Number of elements. */
  long length();

  /** Number of bytes. */
  long byteSize();

  /** Returns where the memory was allocated first. */
  MemoryLocation location();

  /** Which copies exist and which is newest, after all work asked for so far that has completed. */
  BufferState state();

  /** The accelerator that the device's copy is on. */
  Accelerator accelerator();

  /** Copies a whole array to the front; one that is longer than this buffer is out of bounds. */
  void copyFrom(A source);

  /** Copies a range of an array to {@code offset}. */
  void copyFrom(A source, int sourceOffset, long offset, int count);

  /** Copies all elements to the front of an array; one that is shorter is out of bounds. */
  void copyTo(A destination);

  /** Copies {@code count} elements from {@code offset} on to a range of an array. */
  void copyTo(long offset, A destination, int destinationOffset, int count);

  /**
   * Copies a whole segment to {@code offset}.
   *
   * @throws IllegalArgumentException if the segment's size is no multiple of an element's
   */
  void copyFrom(MemorySegment source, long offset);

  /** Fills a whole segment with the elements from {@code offset} on. */
  void copyTo(long offset, MemorySegment destination);

  /**
   * Copies a whole segment to the front; one that is longer than this buffer is out of bounds.
   *
   * @throws IllegalArgumentException if the segment's size is no multiple of an element's
   */
  default void copyFrom(MemorySegment source) {
    copyFrom(source, 0);
  }

  /** Copies all elements to the front of a segment; one that is shorter is out of bounds. */
  default void copyTo(MemorySegment destination) {
    copyTo(0, front(destination));
  }

  private MemorySegment front(MemorySegment destination) {
    long bytes = byteSize();
    if (destination.byteSize() < bytes) {
      throw new IndexOutOfBoundsException(
          "the segment has "
              + destination.byteSize()
              + " bytes, but "
              + this
              + " needs "
              + bytes
              + "; give a longer one, or an offset to fill a part");
    }
    return destination.asSlice(0, bytes);
  }

  /**
   * Copies all of another buffer to the front of this one, by the best way there is. Overlapping
   * slices of one buffer are copied as if through a temporary.
   *
   * @throws IllegalArgumentException if the elements are of another type, or the two are parts of
   *     two mappings of one file that overlap
   */
  void copyFrom(UnifiedBuffer<A> source);

  /** {@link #copyFrom(Object)} in the background. */
  CompletableFuture<Void> copyFromAsync(A source);

  /** {@link #copyFrom(Object, int, long, int)} in the background. */
  CompletableFuture<Void> copyFromAsync(A source, int sourceOffset, long offset, int count);

  /** {@link #copyTo(Object)} in the background. */
  CompletableFuture<Void> copyToAsync(A destination);

  /** {@link #copyTo(long, Object, int, int)} in the background. */
  CompletableFuture<Void> copyToAsync(long offset, A destination, int destinationOffset, int count);

  /**
   * {@link #copyFrom(MemorySegment, long)} in the background. The segment's arena must stay open
   * until the future completes; closing it earlier may fail the future with an {@link
   * IllegalStateException}.
   *
   * @throws IllegalArgumentException if other threads may not access the segment, or if its size is
   *     no multiple of an element's
   */
  default CompletableFuture<Void> copyFromAsync(MemorySegment source, long offset) {
    return CompletableFuture.runAsync(() -> copyFrom(source, offset));
  }

  /**
   * {@link #copyTo(long, MemorySegment)} in the background. The segment's arena must stay open
   * until the future completes; closing it earlier may fail the future with an {@link
   * IllegalStateException}.
   *
   * @throws IllegalArgumentException if the segment is read-only, if other threads may not access
   *     it, or if its size is no multiple of an element's
   */
  default CompletableFuture<Void> copyToAsync(long offset, MemorySegment destination) {
    return CompletableFuture.runAsync(() -> copyTo(offset, destination));
  }

  /**
   * {@link #copyFrom(MemorySegment)} in the background.
   *
   * @throws IllegalArgumentException as {@link #copyFromAsync(MemorySegment, long)}
   */
  default CompletableFuture<Void> copyFromAsync(MemorySegment source) {
    return copyFromAsync(source, 0);
  }

  /**
   * {@link #copyTo(MemorySegment)} in the background.
   *
   * @throws IllegalArgumentException as {@link #copyToAsync(long, MemorySegment)}
   */
  default CompletableFuture<Void> copyToAsync(MemorySegment destination) {
    return copyToAsync(0, front(destination));
  }

  /** {@link #copyFrom(UnifiedBuffer)} in the background. */
  CompletableFuture<Void> copyFromAsync(UnifiedBuffer<A> source);

  /**
   * Returns the host's copy itself, for reading and writing. Newer bytes of the device are fetched
   * first. The call counts as a write of the whole buffer at this moment, so call it again after
   * device work. Do not use the segment after the buffer is closed.
   */
  MemorySegment asSegment();

  /** Returns the host's copy itself, for reading. Newer bytes of the device are fetched first. */
  MemorySegment asReadOnlySegment();

  /**
   * {@link #asSegment()} as a direct buffer for libraries that take {@code java.nio}, in the
   * platform's byte order, which a segment's own {@code asByteBuffer()} does not have. Counts as a
   * write, as that does.
   *
   * @throws IllegalArgumentException if the buffer has more bytes than the JDK takes, which are 2
   *     GiB less 9: take slices
   */
  default ByteBuffer asByteBuffer() {
    int most = Integer.MAX_VALUE - 8;
    if (byteSize() > most) {
      throw new IllegalArgumentException(
          this
              + " has "
              + byteSize()
              + " bytes, and a ByteBuffer at most "
              + most
              + "; take it by slices");
    }
    return asSegment().asByteBuffer().order(ByteOrder.nativeOrder());
  }

  /** Maps all of the buffer for the calling thread. */
  HostMapping map(MapMode mode);

  /** Maps all of the buffer; {@code shared} lets every thread use and close the mapping. */
  HostMapping map(MapMode mode, boolean shared);

  /**
   * Maps the buffer in the background, for all threads as {@link #map(MapMode, boolean)} does. The
   * mapping takes its place in the order of the buffer's work now; a cancelled future closes it.
   */
  default CompletableFuture<HostMapping> mapAsync(MapMode mode) {
    return CompletableFuture.supplyAsync(() -> map(mode, true));
  }

  /**
   * Returns a part of this buffer that shares its bytes and its state. Closing it ends only itself.
   */
  UnifiedBuffer<A> slice(long offset, long length);

  /**
   * Returns a view of the same bytes as elements of another type. Closing the view ends only the
   * view.
   *
   * @throws IllegalArgumentException if the bytes are no whole number of such elements
   */
  <B> UnifiedBuffer<B> as(ElementType<B> type);

  /** Sets every byte. */
  void fill(byte value);

  /**
   * Repeats the elements of an array over all elements of the buffer, from the front. An array of
   * one element sets all to one value. Devices have a command for this where the pattern has 1, 2
   * or 4 bytes.
   *
   * @throws IllegalArgumentException if the array is empty
   */
  default void fill(A pattern) {
    int count = elementType().length(pattern);
    if (count == 0) {
      throw new IllegalArgumentException("the pattern has no elements; give one or more");
    }
    for (long at = 0; at < length(); at += count) {
      copyFrom(pattern, 0, at, (int) Math.min(count, length() - at));
    }
  }

  /** {@link #fill(byte)} in the background. */
  default CompletableFuture<Void> fillAsync(byte value) {
    return CompletableFuture.runAsync(() -> fill(value));
  }

  /**
   * {@link #fill(Object)} in the background.
   *
   * @throws IllegalArgumentException if the array is empty
   */
  default CompletableFuture<Void> fillAsync(A pattern) {
    return CompletableFuture.runAsync(() -> fill(pattern));
  }

  /**
   * Copies the newer bytes to the other side, which is allocated if it is missing. Both sides are
   * valid afterwards.
   */
  void synchronize();

  /**
   * {@link #synchronize()} in the background. A view or a mapping that is taken after it has
   * completed, and before other work on the device, waits for no transfer.
   */
  default CompletableFuture<Void> synchronizeAsync() {
    return CompletableFuture.runAsync(this::synchronize);
  }

  /** Starts bringing the bytes to the device, if the host's are newer or alone. */
  void prefetchToDevice();

  /** Starts bringing the bytes to the host, if the device's are newer or alone. */
  void prefetchToHost();

  /** Returns what was moved for this buffer so far; a slice or view answers for its root. */
  BufferMetrics metrics();

  /**
   * Gives the bytes back when the work that uses them ends. Idempotent.
   *
   * <p>Over memory that outlives the buffer ({@link UnifiedMemoryManager#wrap wrapped}, {@link
   * UnifiedMemoryManager#adopt adopted}, {@link UnifiedMemoryManager#map mapped} from a file, or
   * {@linkplain UnifiedMemoryManager#createShared shared}) this method waits for the work that uses
   * it, reads included, and brings the newest bytes back to it. Then the caller may close the arena
   * or read the file. It does so on any thread, virtual ones and completion callbacks included, and
   * is not interruptible; an interrupt stays set. A second closer waits for the first. Called
   * inside of work on this very buffer, as by a progress listener, it does not wait: the bytes are
   * brought back when that work has ended. For every other buffer this method waits for nothing,
   * and closing a slice or a view ends the slice or view only.
   *
   * @throws TransferException if the bytes of such memory could not be brought back, after
   *     everything was freed; it is logged, {@linkplain MemoryStatistics#lostResults() counted} and
   *     reported as a {@link LostResultReport} as well
   */
  @Override
  void close();
}
