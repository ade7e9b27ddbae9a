package dev.tidepool.runtime.events;

import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * Begins events and records them; returns null, or does nothing, if no recording has them.
 *
 * <p>An event lasts until its last method, which commits it. Without a recording a call reads a
 * field at most. The classes of events are loaded only if a recorder exists: registering the first
 * one takes 60 ms, a third of a short command.
 */
public final class FlightEvents {
  /** Decided once, so that the compiler removes the other code if the module is absent. */
  private static final boolean PRESENT = ModuleLayer.boot().findModule("jdk.jfr").isPresent();

  private FlightEvents() {}

  /** Returns whether this process has a flight recorder, recording or not. */
  private static boolean isPresent() {
    return PRESENT && FlightRecorder.isInitialized();
  }

  public static boolean recordsAllocations() {
    return isPresent() && AllocationEvent.isRecorded();
  }

  /** Records an allocation. The caller has checked {@link #recordsAllocations}. */
  public static void allocated(
      String accelerator, String location, String type, String tag, long bytes) {
    AllocationEvent.allocated(accelerator, location, type, tag, bytes);
  }

  /** Begins an event before a block is requested from a pool. */
  public static @Nullable PoolMissEvent poolMiss() {
    return isPresent() ? PoolMissEvent.begun() : null;
  }

  /** Begins an event before pools give idle blocks back. */
  public static @Nullable TrimEvent trim() {
    return isPresent() ? TrimEvent.begun() : null;
  }

  /** Begins an event before a device copy is freed. */
  public static @Nullable EvictionEvent eviction() {
    return isPresent() ? EvictionEvent.begun() : null;
  }

  /** Begins an event before a buffer is written to the spill file. */
  public static @Nullable SpillEvent spill() {
    return isPresent() ? SpillEvent.begun() : null;
  }

  /** Begins an event before bytes are transferred. */
  public static @Nullable TransferEvent transfer() {
    return isPresent() ? TransferEvent.begun() : null;
  }

  /** Records a buffer that became unreachable without being closed. */
  public static void leaked(
      String accelerator, String type, String tag, long bytes, String site, long ageNanos) {
    if (isPresent()) {
      LeakEvent.leaked(accelerator, type, tag, bytes, site, ageNanos);
    }
  }

  /** Records a request that failed after all means to free memory. */
  public static void exhausted(
      String accelerator, long requested, long free, long pooled, long live, String message) {
    if (isPresent()) {
      OutOfMemoryEvent.exhausted(accelerator, requested, free, pooled, live, message);
    }
  }
}
