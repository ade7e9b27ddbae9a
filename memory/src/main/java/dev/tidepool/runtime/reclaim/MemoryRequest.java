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
 * A request for a block that was refused, while memory is freed for it: it is tried again, and says
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
   * @param onDevice whether the block is of the device's memory
   * @param inWork whether it is for work that is under way
   * @param reservation that it counts against; null for none
   * @param refused what it was refused with
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

  /** Returns whether it is for work that is under way. */
  boolean isInWork() {
    return inWork;
  }

  /** Returns what it was refused with the last time. */
  OutOfDeviceMemoryException refused() {
    return refused;
  }

  /** Notes what was done for it, for the message of a failure. */
  void tried(String what) {
    tried.add(what);
  }

  /** Returns what was done for it. */
  List<String> tried() {
    return tried;
  }

  /** Tries again; null if it is still refused. */
  @Nullable T attempt() {
    try {
      return request.get();
    } catch (OutOfDeviceMemoryException stillFull) {
      refused = stillFull;
      return null;
    }
  }

  /** Tries first with what has just become idle, because it may have the right size. */
  @Nullable T attemptOrTrim() {
    T block = attempt();
    if (block != null) {
      return block;
    }
    trim();
    return attempt();
  }

  /** Gives idle blocks back, of the managers whose memory would help; how many bytes. */
  long trim() {
    if (reservation != null && isFull()) {
      return reservation.trim();
    }
    return isLimited() ? reclaimer.trim() : reclaimer.trimDevice();
  }

  /**
   * Returns whether only memory of the manager helps: its limit said no, or a reservation of its
   * own.
   */
  boolean isOwnOnly() {
    return isLimited() || isFull();
  }

  /** Returns whether its reservation said no: then only what counts against that helps. */
  private boolean isFull() {
    return MemoryRefusedException.isBy(Source.FULL_RESERVATION, refused);
  }

  /** Returns whether memory of a buffer may be taken: no other reservation has it. */
  private boolean mayTakeFrom(BufferCore core) {
    DeviceReservation holder = DeviceReservation.openOf(core.allocation());
    return holder == null ? !isFull() : holder.equals(reservation);
  }

  /** Returns whether the manager's own limit said no: then only what is the manager's helps. */
  boolean isLimited() {
    return MemoryRefusedException.isBy(Source.LIMIT, refused);
  }

  /** Returns true if memory of a manager may help. */
  boolean concerns(ManagerContext owner) {
    return owner == context || (!isOwnOnly() && owner.device().equals(context.device()));
  }

  /** Returns whether the memory of a buffer would help, if nothing used it; makes no storage. */
  boolean wouldHelp(BufferCore core) {
    return evictionHelps(core) || (core.context().spilling() != null && spillingHelps(core));
  }

  /** Returns whether giving a device copy up frees memory for the request; makes no storage. */
  boolean evictionHelps(BufferCore core) {
    Storage storage = core.storageIfAny();
    // A dormant buffer has one copy, at the place where it was allocated.
    return storage == null
        ? onDevice && !isLimited() && isOnDeviceAlone(core) && mayTakeFrom(core)
        : evictionHelps(storage);
  }

  boolean evictionHelps(Storage storage) {
    StorageEviction eviction = new StorageEviction(storage);
    // Under the limit a copy that moves to the host takes as much there.
    boolean helps = isLimited() ? eviction.hasTwoCopies() : onDevice && eviction.isPossible();
    return helps && mayTakeFrom(storage.core());
  }

  /**
   * Returns whether the memory that a buffer occupies is of the kind that is short; makes no
   * storage.
   */
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
