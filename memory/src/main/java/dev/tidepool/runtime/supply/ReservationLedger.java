package dev.tidepool.runtime.supply;

import dev.tidepool.ByteSize;
import dev.tidepool.MemoryInfo;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.spi.Device;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

/**
 * The reservations of one device, of all managers of a session: the holders with their bytes, and
 * the waiting requests.
 *
 * <p>No other request gets what is reserved and unused: a pool asks the driver for a block only if
 * that many bytes stay free. A request counts as pending before the driver is asked and until the
 * driver's figure has it. A block of a reservation counts as used after the driver has given it,
 * and as unused before the driver gets it back. So errors of the sum are on the safe side, and
 * nothing is counted twice while no reservation exists.
 *
 * <p><b>Locking.</b> The monitor guards all numbers, those of the {@link DeviceReservation}s too.
 * Under it the device is asked for its memory, and nothing else.
 */
public final class ReservationLedger {
  private final Device device;
  private final AtomicLong pending = new AtomicLong();

  // Guarded by this; the first is also read without.
  private volatile long unused;
  private final List<DeviceReservation> open = new ArrayList<>();
  private final Deque<Place> queue = new ArrayDeque<>();

  public ReservationLedger(Device device) {
    this.device = device;
  }

  /** A place in the queue of requests that wait for a reservation; the first one may try. */
  public final class Place implements AutoCloseable {
    private Place() {}

    /** Returns whether no request waits longer. */
    public boolean isFirst() {
      synchronized (ReservationLedger.this) {
        return this.equals(queue.peekFirst());
      }
    }

    @Override
    public void close() {
      synchronized (ReservationLedger.this) {
        queue.remove(this);
      }
    }
  }

  /** Enters the queue, as the last. */
  public Place enter() {
    Place place = new Place();
    synchronized (this) {
      queue.addLast(place);
    }
    return place;
  }

  /** Bytes of the device's memory. */
  public long totalBytes() {
    return device.memory().totalBytes();
  }

  /** Returns a source that keeps what is reserved free. */
  MemoryPool.Source over(MemoryPool.Source source) {
    return (bytes, alignment) -> {
      pending.addAndGet(bytes);
      try {
        // A reservation that is granted from here on sees what is pending.
        if (unused > 0) {
          checkFree(bytes);
        }
        return source.allocate(bytes, alignment);
      } finally {
        pending.addAndGet(-bytes);
      }
    };
  }

  private synchronized void checkFree(long bytes) {
    // In this order: a request that is no longer pending is in the driver's figure.
    long kept = unused + pending.get() - bytes;
    MemoryInfo memory = device.memory();
    if (memory.freeBytes() - kept < bytes) {
      throw MemoryRefusedException.byReservations(
          bytes, memory.freeBytes(), memory.totalBytes(), kept);
    }
  }

  /**
   * Grants a reservation.
   *
   * @throws MemoryRefusedException if the device has less free
   */
  synchronized void grant(DeviceReservation reservation) {
    unused += reservation.bytes();
    boolean granted = false;
    try {
      checkFree(0);
      open.add(reservation);
      granted = true;
    } finally {
      if (!granted) {
        unused -= reservation.bytes();
      }
    }
  }

  /** So many bytes of an open reservation have become unused; negative if used. */
  void unused(long bytes) {
    synchronized (this) {
      unused += bytes;
    }
  }

  void closed(DeviceReservation reservation) {
    synchronized (this) {
      open.remove(reservation);
    }
  }

  /** Returns the reservations that are open, the oldest first. */
  public synchronized List<DeviceReservation> open() {
    return List.copyOf(open);
  }

  /** Lists the holders, for messages; empty if there is no reservation. */
  public String holders() {
    return open().stream()
        .map(
            each ->
                each
                    + " "
                    + ByteSize.format(each.bytes())
                    + " ("
                    + ByteSize.format(each.usedBytes())
                    + " in use)")
        .collect(Collectors.joining(", "));
  }
}
