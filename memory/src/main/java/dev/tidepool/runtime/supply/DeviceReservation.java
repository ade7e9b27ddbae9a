package dev.tidepool.runtime.supply;

import dev.tidepool.Allocation;
import dev.tidepool.Reservation;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.support.VisibleText;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * A reservation and the pools of its blocks.
 *
 * <p><b>Locking.</b> The monitor of the {@link ReservationLedger} guards its numbers. A block is
 * charged from before its allocation by the driver until after its release. A block that outlives
 * the reservation still counts in the manager's limit.
 */
public final class DeviceReservation implements Reservation, BudgetedBlock.Budget {
  private final ReservationLedger ledger;
  private final UnifiedMemoryManager manager;
  private final String name;
  private final long bytes;
  private final @Nullable MemoryLimit limit;
  private final Runnable whenClosed;
  private final List<MemoryPool> pools = new CopyOnWriteArrayList<>();

  // Guarded by the ledger; `isOpen` is also read without.
  private volatile boolean isOpen = true;
  private long charged;
  private long settled;

  private DeviceReservation(
      ReservationLedger ledger,
      UnifiedMemoryManager manager,
      String name,
      long bytes,
      @Nullable MemoryLimit limit,
      Runnable whenClosed) {
    this.ledger = ledger;
    this.manager = manager;
    this.name = name;
    this.bytes = bytes;
    this.limit = limit;
    this.whenClosed = whenClosed;
  }

  /**
   * Creates a reservation.
   *
   * @param limit the limit in which the whole reservation counts; null for none
   * @param whenClosed runs after the close, when the bytes are available to others
   * @throws dev.tidepool.OutOfDeviceMemoryException if the limit or the device has no room now
   */
  public static DeviceReservation of(
      ReservationLedger ledger,
      UnifiedMemoryManager manager,
      String name,
      long bytes,
      @Nullable MemoryLimit limit,
      Runnable whenClosed) {
    DeviceReservation reservation =
        new DeviceReservation(ledger, manager, name, bytes, limit, whenClosed);
    if (limit != null) {
      limit.reserve(bytes);
    }
    boolean granted = false;
    try {
      ledger.grant(reservation);
      granted = true;
      return reservation;
    } finally {
      if (!granted && limit != null) {
        limit.freed(bytes);
      }
    }
  }

  /** Returns the reservation that an allocation names, if it is open. */
  public static @Nullable DeviceReservation openOf(Allocation allocation) {
    return allocation.reservation().orElse(null) instanceof DeviceReservation named && named.isOpen
        ? named
        : null;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public long bytes() {
    return bytes;
  }

  @Override
  public long usedBytes() {
    long held;
    synchronized (ledger) {
      held = charged;
    }
    return Math.max(0, held - idleBytes());
  }

  private long idleBytes() {
    return pools.stream().mapToLong(MemoryPool::idleBytes).sum();
  }

  @Override
  public boolean isOpen() {
    return isOpen;
  }

  @Override
  public UnifiedMemoryManager manager() {
    return manager;
  }

  /** Returns the exception for a use of the closed reservation. */
  public IllegalStateException closedException() {
    return new IllegalStateException(this + " is closed; reserve again, or close it later");
  }

  /** Frees the idle blocks; returns their bytes. */
  public long trim() {
    return pools.stream().mapToLong(MemoryPool::trim).sum();
  }

  /** Adds a pool, which is closed with the reservation. */
  void owns(MemoryPool pool) {
    pools.add(pool);
    if (!isOpen) {
      pool.close();
    }
  }

  /** Returns whether the reservation is closed and all its blocks have been freed. */
  boolean hasEnded() {
    return !isOpen && pools.stream().allMatch(pool -> !pool.isBusy() && pool.reservedBytes() == 0);
  }

  /** Returns a source whose blocks are charged to this until they are freed. */
  MemoryPool.Source over(MemoryPool.Source source) {
    return (requested, alignment) -> {
      charge(requested);
      try {
        Block block = BudgetedBlock.over(source.allocate(requested, alignment), this, requested);
        settle(requested);
        return block;
      } catch (RuntimeException | Error e) {
        freed(requested);
        throw e;
      }
    };
  }

  private void charge(long requested) {
    synchronized (ledger) {
      if (!isOpen) {
        throw closedException();
      }
      if (requested > bytes - charged) {
        throw MemoryRefusedException.byFullReservation(toString(), requested, charged, bytes);
      }
      charged += requested;
    }
  }

  private void settle(long given) {
    synchronized (ledger) {
      settled += given;
      if (isOpen) {
        ledger.unused(-given);
      }
    }
  }

  @Override
  public void freeing(long given) {
    synchronized (ledger) {
      settled -= given;
      if (isOpen) {
        ledger.unused(given);
      }
    }
  }

  /** Called after a block was freed, or its allocation failed. */
  @Override
  public void freed(long given) {
    boolean givesBack;
    synchronized (ledger) {
      charged -= given;
      givesBack = !isOpen;
    }
    if (givesBack && limit != null) {
      limit.freed(given);
    }
  }

  @Override
  public void close() {
    StackReserve.check();
    long back;
    synchronized (ledger) {
      if (!isOpen) {
        return;
      }
      isOpen = false;
      ledger.unused(settled - bytes);
      ledger.closed(this);
      back = bytes - charged;
    }
    if (limit != null) {
      limit.freed(back);
    }
    pools.forEach(MemoryPool::close);
    whenClosed.run();
  }

  @Override
  public String toString() {
    return name.isEmpty() ? "a reservation" : "the reservation '" + VisibleText.of(name) + "'";
  }
}
