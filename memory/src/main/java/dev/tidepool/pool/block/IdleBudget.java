package dev.tidepool.pool.block;

import dev.tidepool.pool.SizeClasses;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The limit of idle bytes, in all and in each size class.
 *
 * <p>The charged bytes are an upper bound of the idle bytes. A block of a stripe stays charged
 * while it is leased, so that the paths without contention do not use this class. Such credits are
 * revoked when the budget is exhausted.
 */
final class IdleBudget {
  private final long maxBytes;
  private final long maxBytesPerClass;
  private final AtomicLong charged = new AtomicLong();
  private final AtomicLongArray chargedOfClass = new AtomicLongArray(SizeClasses.COUNT_WITH_BEYOND);

  IdleBudget(long maxBytes, long maxBytesPerClass) {
    this.maxBytes = maxBytes;
    this.maxBytesPerClass = maxBytesPerClass;
  }

  /** The result of a charge. */
  enum ChargeResult {
    GRANTED,
    CLASS_IS_FULL,
    POOL_IS_FULL
  }

  /** Returns whether blocks of this size can be kept at all. */
  boolean admits(long bytes) {
    return bytes <= maxBytes && bytes <= maxBytesPerClass;
  }

  ChargeResult charge(int sizeClass, long bytes) {
    for (; ; ) {
      long now = chargedOfClass.get(sizeClass);
      if (bytes > maxBytesPerClass - now) {
        return ChargeResult.CLASS_IS_FULL;
      }
      if (chargedOfClass.compareAndSet(sizeClass, now, now + bytes)) {
        break;
      }
    }
    for (; ; ) {
      long now = charged.get();
      if (bytes > maxBytes - now) {
        chargedOfClass.addAndGet(sizeClass, -bytes);
        return ChargeResult.POOL_IS_FULL;
      }
      if (charged.compareAndSet(now, now + bytes)) {
        return ChargeResult.GRANTED;
      }
    }
  }

  long charged() {
    return charged.get();
  }

  long charged(int sizeClass) {
    return chargedOfClass.get(sizeClass);
  }

  /** Charges bytes, even beyond the caps. */
  void chargeAnyway(int sizeClass, long bytes) {
    chargedOfClass.addAndGet(sizeClass, bytes);
    charged.addAndGet(bytes);
  }

  /** Returns whether more bytes are charged than the total cap allows. */
  boolean isOverdrawn() {
    return charged.get() > maxBytes;
  }

  void discharge(int sizeClass, long bytes) {
    charged.addAndGet(-bytes);
    chargedOfClass.addAndGet(sizeClass, -bytes);
  }
}
