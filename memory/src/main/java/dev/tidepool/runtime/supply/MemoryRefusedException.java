package dev.tidepool.runtime.supply;

import dev.tidepool.ByteSize;
import dev.tidepool.OutOfDeviceMemoryException;

/** Thrown if a limit or a reservation refuses memory that the driver might provide. */
public final class MemoryRefusedException extends OutOfDeviceMemoryException {
  private static final long serialVersionUID = 1L;

  /** The reason of the refusal. */
  public enum Source {
    /** The limit of a manager. */
    LIMIT,
    /** A reservation is too full for one of its own buffers. */
    FULL_RESERVATION,
    /** The free memory of the device is kept for reservations. */
    RESERVED
  }

  private final Source source;

  private MemoryRefusedException(
      Source source, String why, long bytes, long freeBytes, long totalBytes) {
    super(why, bytes, freeBytes, totalBytes, -1);
    this.source = source;
  }

  static MemoryRefusedException byLimit(long bytes, long usedBytes, long limitBytes) {
    long free = limitBytes - usedBytes;
    return new MemoryRefusedException(
        Source.LIMIT,
        "the memory-limit of " + ByteSize.format(limitBytes) + " leaves " + ByteSize.format(free),
        bytes,
        free,
        limitBytes);
  }

  static MemoryRefusedException byFullReservation(
      String reservation, long bytes, long usedBytes, long reservedBytes) {
    long free = reservedBytes - usedBytes;
    return new MemoryRefusedException(
        Source.FULL_RESERVATION,
        reservation
            + " of "
            + ByteSize.format(reservedBytes)
            + " leaves "
            + ByteSize.format(free)
            + "; close buffers of it, or reserve more",
        bytes,
        free,
        reservedBytes);
  }

  static MemoryRefusedException byReservations(
      long bytes, long freeBytes, long totalBytes, long reservedBytes) {
    return new MemoryRefusedException(
        Source.RESERVED,
        "of "
            + ByteSize.format(freeBytes)
            + " that are free, "
            + ByteSize.format(reservedBytes)
            + " are kept for reservations and requests that are under way",
        bytes,
        Math.max(0, freeBytes - reservedBytes),
        totalBytes);
  }

  public static boolean isBy(Source source, OutOfDeviceMemoryException refusal) {
    return refusal instanceof MemoryRefusedException refused && refused.source == source;
  }
}
