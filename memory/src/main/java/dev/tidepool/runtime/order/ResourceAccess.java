package dev.tidepool.runtime.order;

import dev.tidepool.MapMode;
import org.jspecify.annotations.Nullable;

/**
 * What a piece of work does with a storage, and its place there while it is under way.
 *
 * <p>The place is part of this object because to enter a queue, and to leave it, must take no
 * memory and the same time however many others are there. So each use is of one piece of work.
 */
public final class ResourceAccess {
  private final OrderedResource storage;
  private final boolean writes;
  private final boolean alone;
  private final Purpose purpose;
  private final boolean forgives;

  // All guarded by the storage's monitor; the first five are the queue's, the others
  // those of UseState.
  @Nullable OrderedOperation operation;
  boolean entered;
  boolean reads;
  @Nullable ResourceAccess readBefore;
  @Nullable ResourceAccess readAfter;
  boolean occupies;
  @Nullable ResourceAccess userBefore;
  @Nullable ResourceAccess userAfter;

  /** What work is for. */
  public enum Purpose {
    /** Copies and views, which go where the newest bytes are. */
    ACCESS,
    /** Kernels, and what brings the bytes to the device, or to both sides. */
    DEVICE,
    /** An eviction, which moves the bytes and uses none. */
    MOVE,
    /** The beginning of a mapping that only reads. */
    MAP_TO_READ,
    /** The beginning of a mapping that writes. */
    MAP_TO_WRITE,
    /** Lending the bytes to native code. */
    LEND;

    /**
     * Returns whether the device, or native code, will have the bytes, which a mapping may forbid.
     */
    public boolean isOnDevice() {
      return this == DEVICE || this == LEND;
    }
  }

  /**
   * Creates a use of a storage.
   *
   * @param storage whose order it joins
   * @param writes whether it changes the bytes
   * @param alone whether nothing else may run beside it: writes, and everything on a storage whose
   *     block host and device take in turn
   * @param purpose what it is for, which decides what an open mapping forbids
   * @param forgives whether it goes on when the write ahead of it failed
   */
  private ResourceAccess(
      OrderedResource storage, boolean writes, boolean alone, Purpose purpose, boolean forgives) {
    this.storage = storage;
    this.writes = writes;
    this.alone = alone;
    this.purpose = purpose;
    this.forgives = forgives;
  }

  private static ResourceAccess of(OrderedResource storage, boolean writes, Purpose purpose) {
    return new ResourceAccess(storage, writes, writes || storage.isExclusive(), purpose, false);
  }

  public static ResourceAccess read(OrderedResource storage) {
    return of(storage, false, Purpose.ACCESS);
  }

  /** Reads what other work is about to write, and has another source should that fail. */
  public static ResourceAccess relay(OrderedResource storage) {
    return new ResourceAccess(storage, false, storage.isExclusive(), Purpose.ACCESS, true);
  }

  public static ResourceAccess write(OrderedResource storage) {
    return of(storage, true, Purpose.ACCESS);
  }

  public static ResourceAccess onDevice(OrderedResource storage, boolean writes) {
    return of(storage, writes, Purpose.DEVICE);
  }

  /** Moving bytes changes none, but nothing may run beside it. */
  static ResourceAccess eviction(OrderedResource storage) {
    return new ResourceAccess(storage, false, true, Purpose.MOVE, false);
  }

  public static ResourceAccess mapping(OrderedResource storage, MapMode mode) {
    return of(storage, mode.writes(), mode.writes() ? Purpose.MAP_TO_WRITE : Purpose.MAP_TO_READ);
  }

  public static ResourceAccess lending(OrderedResource storage, boolean writes) {
    return of(storage, writes, Purpose.LEND);
  }

  OrderedResource storage() {
    return storage;
  }

  public boolean writes() {
    return writes;
  }

  boolean alone() {
    return alone;
  }

  public Purpose purpose() {
    return purpose;
  }

  boolean forgives() {
    return forgives;
  }

  /** One use that covers both, of the same storage. */
  ResourceAccess and(ResourceAccess other) {
    return new ResourceAccess(
        storage,
        writes || other.writes,
        alone || other.alone,
        purpose.isOnDevice() ? purpose : other.purpose,
        forgives && other.forgives);
  }
}
