package dev.tidepool.runtime.events;

import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * Where events begin; null, or nothing, where no recording has them.
 *
 * <p>An event that has begun takes the time until its last method, which hands it to the recorder.
 * With no recording a call costs a look at a field, if anything. The classes of events are loaded
 * when a recorder exists: to register the first one takes 60 ms, a third of a short command.
 */
public final class FlightEvents {
  /** Decided once, so that the compiler leaves the rest out where there is no recorder. */
  private static final boolean PRESENT = ModuleLayer.boot().findModule("jdk.jfr").isPresent();

  private FlightEvents() {}

  /** Returns whether this process has a flight recorder, recording or not. */
  private static boolean isPresent() {
    return PRESENT && FlightRecorder.isInitialized();
  }

  public static boolean recordsAllocations() {
    return isPresent() && AllocationEvent.isRecorded();
  }

  /** A buffer was allocated; for callers that know that a recording has allocations. */
  public static void allocated(
      String accelerator, String location, String type, String tag, long bytes) {
    AllocationEvent.allocated(accelerator, location, type, tag, bytes);
  }

  /** A pool is about to be asked for a block. */
  public static @Nullable PoolMissEvent poolMiss() {
    return isPresent() ? PoolMissEvent.begun() : null;
  }

  /** Pools are about to give idle blocks back. */
  public static @Nullable TrimEvent trim() {
    return isPresent() ? TrimEvent.begun() : null;
  }

  /** A device copy is about to be given up. */
  public static @Nullable EvictionEvent eviction() {
    return isPresent() ? EvictionEvent.begun() : null;
  }

  /** A buffer is about to be written to the spill file. */
  public static @Nullable SpillEvent spill() {
    return isPresent() ? SpillEvent.begun() : null;
  }

  /** Bytes are about to move. */
  public static @Nullable TransferEvent transfer() {
    return isPresent() ? TransferEvent.begun() : null;
  }

  /** A buffer became unreachable unclosed. */
  public static void leaked(
      String accelerator, String type, String tag, long bytes, String site, long ageNanos) {
    if (isPresent()) {
      LeakEvent.leaked(accelerator, type, tag, bytes, site, ageNanos);
    }
  }

  /** Memory ran out, and all that was tried did not help. */
  public static void exhausted(
      String accelerator, long requested, long free, long pooled, long live, String message) {
    if (isPresent()) {
      OutOfMemoryEvent.exhausted(accelerator, requested, free, pooled, live, message);
    }
  }
}
