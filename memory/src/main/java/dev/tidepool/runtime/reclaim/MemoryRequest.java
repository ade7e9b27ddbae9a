package dev.tidepool.runtime.reclaim;

import dev.tidepool.Capability;
import dev.tidepool.MemoryLocation;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.storage.BackingBlocks;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.storage.StorageEviction;
import dev.tidepool.runtime.supply.DeviceReservation;
import dev.tidepool.runtime.supply.MemoryRefusedException;
import dev.tidepool.runtime.supply.MemoryRefusedException.Source;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A refused request for a block, while memory is freed for it. Repeats the request, and decides
 * which memory would help. Not thread-safe.
 */
final class MemoryRequest<T> {
  private final StorageContext context;
  private final Reclaimer reclaimer;
  private final long bytes;
  private final boolean onDevice;
  private final boolean inWork;
  private final @Nullable DeviceReservation reservation;
  private final Supplier<T> request;
  private final List<String> tried = new ArrayList<>();
  private OutOfDeviceMemoryException refused;

  /**
   * Creates a request of a manager.
   *
   * @param onDevice whether the block is device memory
   * @param inWork whether a running operation needs the block
   * @param reservation the reservation to charge; null for none
   * @param refused the first refusal
   */
  MemoryRequest(
      StorageContext context,
      Reclaimer reclaimer,
      long bytes,
      boolean onDevice,
      boolean inWork,
      @Nullable DeviceReservation reservation,
      Supplier<T> request,
      OutOfDeviceMemoryException refused) {
    this.context = context;
    this.reclaimer = reclaimer;
    this.bytes = bytes;
    this.onDevice = onDevice;
    this.inWork = inWork;
    this.reservation = reservation;
    this.request = request;
    this.refused = refused;
  }

  long bytes() {
    return bytes;
  }

  /** Returns whether a running operation needs the block. */
  boolean isInWork() {
    return inWork;
  }

  /** Returns the last refusal. */
  OutOfDeviceMemoryException refused() {
    return refused;
  }

  /** Notes a step that was tried, for the message of a failure. */
  void tried(String what) {
    tried.add(what);
  }

  /** Returns the steps that were tried. */
  List<String> tried() {
    return tried;
  }

  /** Repeats the request; returns null if it is still refused. */
  @Nullable T attempt() {
    try {
      return request.get();
    } catch (OutOfDeviceMemoryException stillFull) {
      refused = stillFull;
      return null;
    }
  }

  /** Repeats the request, trims and repeats it: a new idle block may have the right size. */
  @Nullable T attemptOrTrim() {
    T block = attempt();
    if (block != null) {
      return block;
    }
    trim();
    return attempt();
  }

  /** Frees idle blocks of the managers whose memory would help; returns the bytes. */
  long trim() {
    if (reservation != null && isFull()) {
      return reservation.trim();
    }
    return isLimited() ? reclaimer.trim() : reclaimer.trimDevice();
  }

  /**
   * Returns whether only memory of this manager helps: its limit or one of its reservations
   * refused.
   */
  boolean isOwnOnly() {
    return isLimited() || isFull();
  }

  /** Returns whether the reservation refused: then only memory that is charged to it helps. */
  private boolean isFull() {
    return MemoryRefusedException.isBy(Source.FULL_RESERVATION, refused);
  }

  /** Returns whether memory of a buffer may be taken: it is charged to no other reservation. */
  private boolean mayTakeFrom(BufferCore core) {
    DeviceReservation holder = DeviceReservation.openOf(core.allocation());
    return holder == null ? !isFull() : holder.equals(reservation);
  }

  /** Returns whether the manager's limit refused: then only the manager's memory helps. */
  private boolean isLimited() {
    return MemoryRefusedException.isBy(Source.LIMIT, refused);
  }

  /** Returns true if memory of a manager may help. */
  boolean concerns(ManagerContext owner) {
    return owner == context || (!isOwnOnly() && owner.device().equals(context.device()));
  }

  /** Returns whether a buffer's memory would help if it were idle; creates no storage. */
  boolean wouldHelp(BufferCore core) {
    return evictionHelps(core) || (core.context().spilling() != null && spillingHelps(core));
  }

  /** Returns whether evicting a device copy frees memory for the request; creates no storage. */
  boolean evictionHelps(BufferCore core) {
    Storage storage = core.storageIfAny();
    // A dormant buffer has one copy, at its original location.
    return storage == null
        ? onDevice && !isLimited() && isOnDeviceAlone(core) && mayTakeFrom(core)
        : evictionHelps(storage);
  }

  boolean evictionHelps(Storage storage) {
    StorageEviction eviction = new StorageEviction(storage);
    // A copy that moves to the host counts as much in the limit.
    boolean helps = isLimited() ? eviction.hasTwoCopies() : onDevice && eviction.isPossible();
    return helps && mayTakeFrom(storage.core());
  }

  /** Returns whether a buffer occupies the kind of memory that is short; creates no storage. */
  boolean spillingHelps(BufferCore core) {
    Storage storage = core.storageIfAny();
    if (storage != null) {
      return spillingHelps(storage);
    }
    return mayTakeFrom(core)
        && (isLimited()
            || deviceIsHost()
            || (onDevice ? core.location() == MemoryLocation.UNIFIED : !isOnDeviceAlone(core)));
  }

  boolean spillingHelps(Storage storage) {
    BackingBlocks backing = storage.coherence().backing();
    return mayTakeFrom(storage.core())
        && (isLimited()
            || deviceIsHost()
            || (onDevice ? backing.isShared() : !backing.hasDevice()));
  }

  private boolean isOnDeviceAlone(BufferCore dormant) {
    return !deviceIsHost() && dormant.location() == MemoryLocation.DEVICE;
  }

  private boolean deviceIsHost() {
    return context.device().info().can(Capability.SHARED_MEMORY);
  }
}
