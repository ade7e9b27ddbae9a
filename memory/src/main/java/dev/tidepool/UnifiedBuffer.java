package dev.tidepool;

import dev.tidepool.diagnostics.BufferMetrics;
import dev.tidepool.diagnostics.LostResultReport;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.CompletableFuture;

/**
 * Typed memory on the host, on an accelerator, or on both, whose copies are kept coherent.
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
 * <p><b>Units.</b> Offsets, counts and lengths are in elements; only {@link #byteSize()} is in
 * bytes.
 *
 * <p><b>Order.</b> Operations on one buffer run in the order in which threads request them;
 * operations on unrelated buffers overlap. If a write fails, the operations queued behind it on
 * that buffer fail with the same cause.
 *
 * <p><b>Threads.</b> Safe for concurrent use by platform and virtual threads. {@code void} methods
 * return when the operation has ended, except {@link #close()} and prefetches: the first use that
 * begins after a prefetch has failed throws its error. Futures complete on the library's threads;
 * cancelling a future stops an operation that has not started. Do not use an array or segment of an
 * asynchronous operation until its future has completed.
 *
 * <p><b>Errors.</b> Every method of a closed buffer except {@link #close()} throws an {@link
 * IllegalStateException} that names the buffer's tag; of an {@link AbstractUnifiedBuffer} only the
 * methods that use its segment throw. Ranges outside the buffer or the array throw {@link
 * IndexOutOfBoundsException}. Failed transfers throw {@link TransferException}. An accelerator that
 * has no room for a copy throws {@link OutOfDeviceMemoryException}.
 *
 * <p>Programs may implement this interface, best by extending {@link AbstractUnifiedBuffer}. Copies
 * read such a buffer through its {@link #asReadOnlySegment()}.
 *
 * @param <A> the Java array that carries elements
 */
public interface UnifiedBuffer<A> extends AutoCloseable {
  /** Returns the type of the elements. */
  ElementType<A> elementType();

  /** Returns the number of elements. */
  long length();

  /** Returns the number of bytes. */
  long byteSize();

  /** Returns where the memory was allocated first. */
  MemoryLocation location();

  /**
   * Returns which copies exist and which is the newest, after all operations that have completed so
   * far.
   */
  BufferState state();

  /** Returns the accelerator that has the device copy. */
  Accelerator accelerator();

  /**
   * Copies a whole array to the front.
   *
   * @throws IndexOutOfBoundsException if the array is longer than this buffer
   */
  void copyFrom(A source);

  /** Copies a range of an array to {@code offset}. */
  void copyFrom(A source, int sourceOffset, long offset, int count);

  /**
   * Copies all elements to the front of an array.
   *
   * @throws IndexOutOfBoundsException if the array is shorter than this buffer
   */
  void copyTo(A destination);

  /** Copies {@code count} elements, starting at {@code offset}, to a range of an array. */
  void copyTo(long offset, A destination, int destinationOffset, int count);

  /**
   * Copies a whole segment to {@code offset}.
   *
   * @throws IllegalArgumentException if the segment's size is not a multiple of an element's
   */
  void copyFrom(MemorySegment source, long offset);

  /** Fills a whole segment with elements, starting at {@code offset}. */
  void copyTo(long offset, MemorySegment destination);

  /**
   * Copies a whole segment to the front.
   *
   * @throws IllegalArgumentException if the segment's size is not a multiple of an element's
   * @throws IndexOutOfBoundsException if the segment is longer than this buffer
   */
  default void copyFrom(MemorySegment source) {
    copyFrom(source, 0);
  }

  /**
   * Copies all elements to the front of a segment.
   *
   * @throws IndexOutOfBoundsException if the segment is shorter than this buffer
   */
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
   * Copies all of another buffer to the front of this one, by the fastest way available.
   * Overlapping slices of one buffer are copied as if through a temporary array.
   *
   * @throws IllegalArgumentException if the element types differ, or if the buffers are two
   *     mappings of one file whose ranges overlap and are not the same
   */
  void copyFrom(UnifiedBuffer<A> source);

  /** Like {@link #copyFrom(Object)}, in the background. */
  CompletableFuture<Void> copyFromAsync(A source);

  /** Like {@link #copyFrom(Object, int, long, int)}, in the background. */
  CompletableFuture<Void> copyFromAsync(A source, int sourceOffset, long offset, int count);

  /** Like {@link #copyTo(Object)}, in the background. */
  CompletableFuture<Void> copyToAsync(A destination);

  /** Like {@link #copyTo(long, Object, int, int)}, in the background. */
  CompletableFuture<Void> copyToAsync(long offset, A destination, int destinationOffset, int count);

  /**
   * Like {@link #copyFrom(MemorySegment, long)}, in the background. The segment's arena must stay
   * open until the future completes; closing it earlier may fail the future with an {@link
   * IllegalStateException}.
   *
   * @throws IllegalArgumentException if other threads may not access the segment, or if its size is
   *     not a multiple of an element's
   */
  default CompletableFuture<Void> copyFromAsync(MemorySegment source, long offset) {
    return CompletableFuture.runAsync(() -> copyFrom(source, offset));
  }

  /**
   * Like {@link #copyTo(long, MemorySegment)}, in the background. The segment's arena must stay
   * open until the future completes; closing it earlier may fail the future with an {@link
   * IllegalStateException}.
   *
   * @throws IllegalArgumentException if the segment is read-only, if other threads may not access
   *     it, or if its size is not a multiple of an element's
   */
  default CompletableFuture<Void> copyToAsync(long offset, MemorySegment destination) {
    return CompletableFuture.runAsync(() -> copyTo(offset, destination));
  }

  /**
   * Like {@link #copyFrom(MemorySegment)}, in the background.
   *
   * @throws IllegalArgumentException as {@link #copyFromAsync(MemorySegment, long)}
   */
  default CompletableFuture<Void> copyFromAsync(MemorySegment source) {
    return copyFromAsync(source, 0);
  }

  /**
   * Like {@link #copyTo(MemorySegment)}, in the background.
   *
   * @throws IllegalArgumentException as {@link #copyToAsync(long, MemorySegment)}
   */
  default CompletableFuture<Void> copyToAsync(MemorySegment destination) {
    return copyToAsync(0, front(destination));
  }

  /** Like {@link #copyFrom(UnifiedBuffer)}, in the background. */
  CompletableFuture<Void> copyFromAsync(UnifiedBuffer<A> source);

  /**
   * Returns the host's copy, not a duplicate, for reading and writing. Newer bytes of the device
   * are fetched first. The call counts as a write of all elements of this buffer or slice at this
   * moment, so call it again after device work. Do not use the segment after the buffer is closed.
   */
  MemorySegment asSegment();

  /**
   * Returns the host's copy, not a duplicate, for reading. Newer bytes of the device are fetched
   * first.
   */
  MemorySegment asReadOnlySegment();

  /**
   * Returns {@link #asSegment()} as a direct buffer in the platform's byte order, for libraries
   * that take {@code java.nio} buffers. (The segment's own {@code asByteBuffer()} is big-endian.)
   * The call counts as a write of all elements.
   *
   * @throws IllegalArgumentException if the buffer has more bytes than a {@code ByteBuffer} of the
   *     JDK, 2 GiB minus 9: take slices
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

  /** Maps all of the buffer. If {@code shared}, every thread may use and close the mapping. */
  HostMapping map(MapMode mode, boolean shared);

  /**
   * Maps the buffer in the background, for all threads, like {@link #map(MapMode, boolean)}. The
   * mapping takes its place in the order of the buffer's operations now. If the future is
   * cancelled, the mapping is closed.
   */
  default CompletableFuture<HostMapping> mapAsync(MapMode mode) {
    return CompletableFuture.supplyAsync(() -> map(mode, true));
  }

  /**
   * Returns a part of this buffer that shares its bytes and its state. Closing the slice does not
   * close this buffer.
   */
  UnifiedBuffer<A> slice(long offset, long length);

  /**
   * Returns a view of the same bytes as elements of another type. Closing the view does not close
   * this buffer.
   *
   * @throws IllegalArgumentException if the bytes are not a whole number of these elements
   */
  <B> UnifiedBuffer<B> as(ElementType<B> type);

  /** Sets every byte to a value. */
  void fill(byte value);

  /**
   * Fills the buffer with the elements of an array, repeated from the front. An array of one
   * element sets all elements to one value. Devices have a command for this if the pattern has 1, 2
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

  /** Like {@link #fill(byte)}, in the background. */
  default CompletableFuture<Void> fillAsync(byte value) {
    return CompletableFuture.runAsync(() -> fill(value));
  }

  /**
   * Like {@link #fill(Object)}, in the background.
   *
   * @throws IllegalArgumentException if the array is empty
   */
  default CompletableFuture<Void> fillAsync(A pattern) {
    return CompletableFuture.runAsync(() -> fill(pattern));
  }

  /**
   * Copies the newer bytes to the other copy, which is allocated if it is missing. Both copies are
   * equal afterwards.
   */
  void synchronize();

  /**
   * Like {@link #synchronize()}, in the background. A view or a mapping that is taken after its
   * completion, and before other operations on the device, waits for no transfer.
   */
  default CompletableFuture<Void> synchronizeAsync() {
    return CompletableFuture.runAsync(this::synchronize);
  }

  /**
   * Starts copying the bytes to the device, if only the host has the newest. If the copy fails, the
   * next operation on the buffer that is requested after the failure throws it.
   */
  void prefetchToDevice();

  /**
   * Starts copying the bytes to the host, if only the device has the newest. Reports a failure like
   * {@link #prefetchToDevice}.
   */
  void prefetchToHost();

  /**
   * Returns figures about this buffer's transfers so far. A slice or a view returns those of its
   * root.
   */
  BufferMetrics metrics();

  /**
   * Closes the buffer. Its memory is freed when the operations that use it have ended and its
   * mappings are closed. Idempotent.
   *
   * <p>If the buffer is over external memory ({@link UnifiedMemoryManager#wrap wrapped}, {@link
   * UnifiedMemoryManager#adopt adopted}, {@link UnifiedMemoryManager#map mapped} from a file, or
   * {@linkplain UnifiedMemoryManager#createShared shared}), this method waits for the operations
   * that use the memory, including reads, and copies the newest bytes back. Then the caller may
   * close the arena or read the file. This holds on any thread, including virtual threads and
   * completion callbacks. The wait is not interruptible; an interrupt stays set. A second thread
   * that calls this method waits for the first. If an operation on this buffer calls this method,
   * as by a progress listener, it does not wait: the bytes are copied back when that operation has
   * ended.
   *
   * <p>For every other buffer this method waits for nothing. Closing a slice or a view does not
   * close its buffer.
   *
   * @throws TransferException if the bytes could not be copied back to external memory. Everything
   *     is freed before. The failure is also logged, {@linkplain MemoryStatistics#lostResults()
   *     counted}, and reported as a {@link LostResultReport}
   */
  @Override
  void close();
}
