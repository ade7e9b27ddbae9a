package dev.tidepool;

/**
 * Bytes of a device that are kept for one job, so that several jobs share the device and none of
 * them runs out of memory because of another. Made by {@link UnifiedMemoryManager#reserve}.
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
 * Allocation#within}. What they have on the device counts against it, each buffer with its own
 * bytes: memory of DEVICE and UNIFIED buffers, the device's copies of others, and on accelerators
 * that share the host's memory HOST buffers too. What they have on the host beside that does not
 * count.
 *
 * <p><b>Within the reservation</b> a request finds memory. Blocks of closed buffers stay with the
 * reservation and serve later requests for the same size. Requests of others evict no buffer of a
 * reservation, and take none of its idle blocks.
 *
 * <p><b>Beyond it</b> a request frees memory that is idle in the same reservation: idle blocks go,
 * and idle buffers give their copies up to the host or the spill file. If that is not enough, it
 * fails with an {@link OutOfDeviceMemoryException}. It never takes the memory of others.
 *
 * <p><b>Closing</b> gives what is unused to others at once. Buffers that are still open stay valid;
 * from then on they are as if they were allocated without a reservation. The manager's close ends
 * its reservations.
 *
 * <p>Thread-safe.
 */
public interface Reservation extends AutoCloseable {
  /** Returns what messages call it; empty if it was not named. */
  String name();

  /** Bytes that are reserved. */
  long bytes();

  /** Bytes of them that buffers have now. */
  long usedBytes();

  /** Returns whether it is not closed yet. */
  boolean isOpen();

  /** Returns the manager that it was made by. */
  UnifiedMemoryManager manager();

  /**
   * Returns a DEVICE buffer that counts against this reservation, its contents undefined.
   *
   * @throws IllegalStateException if the reservation is closed
   * @throws OutOfDeviceMemoryException if the reservation has no room
   */
  default <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length) {
    return manager().allocate(type, length, Allocation.at(MemoryLocation.DEVICE).within(this));
  }

  /** Gives what is unused to others. Idempotent; throws nothing and waits for nothing. */
  @Override
  void close();
}
