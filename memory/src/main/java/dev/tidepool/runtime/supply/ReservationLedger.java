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
 * The reservations of one device by all managers of a session, and the waiting requests.
 *
 * <p>Other requests cannot use reserved bytes: a pool requests a block of the driver only if the
 * unused bytes of reservations stay free. A request is pending from before the driver's call until
 * the driver's figure includes it. A block of a reservation counts as used after the driver has
 * allocated it, and as unused before the driver frees it. So errors of the sum are on the safe
 * side, and nothing is counted twice while no reservation exists.
 *
 * <p><b>Locking.</b> The monitor guards all numbers, including those of the {@link
 * DeviceReservation}s. Under it, the only call to the device is the query of its memory.
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

  /** A place in the queue of requests that wait for a reservation. The first request may try. */
  public final class Place implements AutoCloseable {
    private Place() {}

    /** Returns whether no other request has waited longer. */
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

  /** Enters the queue at its end. */
  public Place enter() {
    Place place = new Place();
    synchronized (this) {
      queue.addLast(place);
    }
    return place;
  }

  /** Returns the bytes of the device's memory. */
  public long totalBytes() {
    return device.memory().totalBytes();
  }

  /** Returns a source that keeps reserved bytes free. */
  MemoryPool.Source over(MemoryPool.Source source) {
    return (bytes, alignment) -> {
      pending.addAndGet(bytes);
      try {
        // A reservation that is granted from here on sees the pending bytes.
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
    // In this order: the driver's figure includes a request that is no longer pending.
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
   * @throws MemoryRefusedException if the device has not enough free memory
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

  /** Adds to the unused bytes of open reservations; negative if bytes become used. */
  synchronized void unused(long bytes) {
    unused += bytes;
  }

  synchronized void closed(DeviceReservation reservation) {
    open.remove(reservation);
  }

  /** Returns the open reservations, the oldest first. */
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
