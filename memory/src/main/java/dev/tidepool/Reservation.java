package dev.tidepool;

/**
 * Bytes of a device that are reserved for one job. Several jobs can then share the device, and none
 * runs out of memory because of another. Created by {@link UnifiedMemoryManager#reserve}.
 *
 * {@snippet :
 * try (Reservation job = memory.reserve("training", 64L << 20, Duration.ofMinutes(5));
 *     UnifiedBuffer<float[]> x = job.allocate(ElementType.FLOAT, 1 << 20);
 *     UnifiedBuffer<float[]> y = job.allocate(ElementType.FLOAT, 1 << 20)) {
 *   memory.compile(KernelSource.elementwise("y = 2 * x")).execute(Arguments.of("x", x, "y", y));
 * }
 * }
 *
 * <p>Buffers name their reservation when they are allocated: by {@link #allocate}, or by {@link
 * Allocation#within}. Their memory on the device counts against it, each buffer with its own bytes:
 * DEVICE and UNIFIED buffers, the device's copies of others, and on accelerators that share the
 * host's memory also HOST buffers. Their other memory on the host does not count.
 *
 * <p><b>Within the reservation</b> a request succeeds. Blocks of closed buffers stay with the
 * reservation and serve later requests for the same size. Other requests evict no buffer of a
 * reservation, and take none of its idle blocks.
 *
 * <p><b>Beyond it</b> a request frees memory that is idle in the same reservation: idle blocks are
 * freed, and idle buffers are moved to the host or the spill file. If that is not enough, the
 * request throws {@link OutOfDeviceMemoryException}. It never takes memory of other reservations or
 * buffers.
 *
 * <p><b>Closing</b> releases the unused bytes at once. Buffers that are still open stay valid, as
 * if they were allocated without a reservation. Closing the manager closes its reservations.
 *
 * <p>Thread-safe.
 */
public interface Reservation extends AutoCloseable {
  /** Returns the name in messages; empty if there is none. */
  String name();

  /** Returns the number of reserved bytes. */
  long bytes();

  /** Returns the reserved bytes that buffers use now. */
  long usedBytes();

  /** Returns whether this reservation is open. */
  boolean isOpen();

  /** Returns the manager that created this reservation. */
  UnifiedMemoryManager manager();

  /**
   * Allocates a DEVICE buffer that counts against this reservation. Its contents are undefined.
   *
   * @throws IllegalStateException if the reservation is closed
   * @throws OutOfDeviceMemoryException if the reservation has no room
   */
  default <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length) {
    return manager().allocate(type, length, Allocation.at(MemoryLocation.DEVICE).within(this));
  }

  /** Releases the unused bytes. Idempotent; throws nothing and waits for nothing. */
  @Override
  void close();
}
