package dev.tidepool.runtime.order;

import dev.tidepool.MapMode;
import org.jspecify.annotations.Nullable;

/**
 * What an operation does with one storage, and its entry in the storage's queue.
 *
 * <p>The entry is part of this object, so that entering and leaving a queue allocate nothing and
 * take constant time. So each access belongs to one operation.
 */
public final class ResourceAccess {
  private final OrderedResource storage;
  private final boolean writes;
  private final boolean alone;
  private final Purpose purpose;
  private final boolean forgives;

  // All guarded by the storage's monitor. OperationQueue uses the first five, UseState the others.
  @Nullable OrderedOperation operation;
  boolean entered;
  boolean reads;
  @Nullable ResourceAccess readBefore;
  @Nullable ResourceAccess readAfter;
  boolean occupies;
  @Nullable ResourceAccess userBefore;
  @Nullable ResourceAccess userAfter;

  /** The purpose of an operation. */
  public enum Purpose {
    /** Copies and views, on the side that has the newest bytes. */
    ACCESS,
    /** Kernels, and operations that bring the bytes to the device or to both sides. */
    DEVICE,
    /** An eviction, which moves the bytes and uses none. */
    MOVE,
    /** The beginning of a mapping that only reads. */
    MAP_TO_READ,
    /** The beginning of a mapping that writes. */
    MAP_TO_WRITE,
    /** Lending the bytes to native code. */
    LEND;

    /** Returns whether the device or native code uses the bytes, which a mapping may forbid. */
    public boolean isOnDevice() {
      return this == DEVICE || this == LEND;
    }
  }

  /**
   * Creates an access to a storage.
   *
   * @param storage whose queue it enters
   * @param writes whether it changes the bytes
   * @param alone whether nothing else may run beside it: writes, and every access to a storage
   *     whose block host and device use in turns
   * @param purpose decides whether an open mapping forbids the access
   * @param forgives whether it continues if the write ahead failed
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

  /** Reads bytes that another operation is about to write, and has another source if that fails. */
  public static ResourceAccess relay(OrderedResource storage) {
    return new ResourceAccess(storage, false, storage.isExclusive(), Purpose.ACCESS, true);
  }

  public static ResourceAccess write(OrderedResource storage) {
    return of(storage, true, Purpose.ACCESS);
  }

  public static ResourceAccess onDevice(OrderedResource storage, boolean writes) {
    return of(storage, writes, Purpose.DEVICE);
  }

  /** Moves the bytes, which changes none; but nothing may run beside it. */
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

  /** Returns one access that covers both, of the same storage. */
  ResourceAccess and(ResourceAccess other) {
    return new ResourceAccess(
        storage,
        writes || other.writes,
        alone || other.alone,
        purpose.isOnDevice() ? purpose : other.purpose,
        forgives && other.forgives);
  }
}
