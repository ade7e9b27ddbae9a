package dev.tidepool.runtime;

import dev.tidepool.MapMode;

/**
 * What a piece of work does with a storage.
 *
 * @param storage whose order it joins
 * @param writes whether it must be alone; reads run side by side
 * @param purpose what it is for, which decides what an open mapping forbids
 */
record Use(Storage storage, boolean writes, Purpose purpose) {
  /** What work is for. */
  enum Purpose {
    /** Copies and views, which go where the newest bytes are. */
    ACCESS,
    /** Kernels and prefetches. */
    DEVICE,
    /** The beginning of a mapping that only reads. */
    MAP_TO_READ,
    /** The beginning of a mapping that writes. */
    MAP_TO_WRITE
  }

  static Use read(Storage storage) {
    return new Use(storage, storage.isExclusive(), Purpose.ACCESS);
  }

  static Use write(Storage storage) {
    return new Use(storage, true, Purpose.ACCESS);
  }

  static Use onDevice(Storage storage, boolean writes) {
    return new Use(storage, writes || storage.isExclusive(), Purpose.DEVICE);
  }

  static Use mapping(Storage storage, MapMode mode) {
    return mode.writes()
        ? new Use(storage, true, Purpose.MAP_TO_WRITE)
        : new Use(storage, storage.isExclusive(), Purpose.MAP_TO_READ);
  }

  /** One use that covers both, of the same storage. */
  Use and(Use other) {
    return new Use(
        storage, writes || other.writes, purpose == Purpose.DEVICE ? purpose : other.purpose);
  }
}
