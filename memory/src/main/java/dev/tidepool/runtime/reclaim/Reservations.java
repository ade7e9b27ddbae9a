package dev.tidepool.runtime.reclaim;

import dev.tidepool.Reservation;
import dev.tidepool.diagnostics.UnclosedReservationReport;
import dev.tidepool.runtime.order.MemoryWaiters;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.DeviceReservation;
import dev.tidepool.runtime.supply.MemoryLimit;
import dev.tidepool.runtime.supply.MemoryPools;
import dev.tidepool.runtime.supply.ReservationLedger;
import dev.tidepool.runtime.threads.BackgroundWork;
import dev.tidepool.runtime.threads.StackReserve;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Grants a manager's reservations of its device, in the order of the requests of all managers of
 * the device.
 *
 * <p>The first request in the queue tries with memory that can be freed at once, and again whenever
 * memory was released; see {@link MemoryWaiters}. It holds nothing while it waits, so that a
 * closing manager does not wait for it. Thread-safe.
 */
public final class Reservations {
  private final StorageContext context;
  private final MemoryPools pools;
  private final ReservationLedger ledger;
  private final @Nullable MemoryLimit limit;
  private final OutOfMemoryRecovery recovery;
  private final OutOfMemoryMessages exceptions;

  /**
   * Creates the reservations of one manager.
   *
   * @param limit the manager's limit; null for none
   */
  public Reservations(
      StorageContext context,
      MemoryPools pools,
      ReservationLedger ledger,
      @Nullable MemoryLimit limit,
      OutOfMemoryRecovery recovery,
      OutOfMemoryMessages exceptions) {
    this.context = context;
    this.pools = pools;
    this.ledger = ledger;
    this.limit = limit;
    this.recovery = recovery;
    this.exceptions = exceptions;
  }

  /** Reserves bytes; see {@link dev.tidepool.UnifiedMemoryManager#reserve}. */
  public Reservation reserve(String name, long bytes, Duration timeout) {
    return reserve(name, bytes, timeout, () -> false);
  }

  /** Reserves bytes in the background; cancelling the future removes the request from the queue. */
  public CompletableFuture<Reservation> reserveAsync(String name, long bytes, Duration timeout) {
    AtomicBoolean done = new AtomicBoolean();
    CompletableFuture<Reservation> future =
        BackgroundWork.start(() -> reserve(name, bytes, timeout, done::get), Reservation::close);
    var _ =
        future.whenComplete(
            (_, _) -> {
              done.set(true);
              context.waiters().released(context.device());
            });
    return future;
  }

  private Reservation reserve(
      String name, long bytes, Duration timeout, BooleanSupplier isCancelled) {
    Objects.requireNonNull(name, "name");
    if (bytes < 1) {
      throw new IllegalArgumentException(bytes + " bytes are to be reserved; reserve 1 or more");
    }
    if (Objects.requireNonNull(timeout, "timeout").isNegative()) {
      throw new IllegalArgumentException(
          "the timeout is " + timeout + "; it is zero to wait for nothing, or more");
    }
    // A thread that fails must not stay in the queue.
    StackReserve.check();
    ReservationLedger.Place place = ledger.enter();
    try (MemoryWaiters.Waiter waiter = context.waiters().enter(context.device())) {
      return await(place, waiter, name, bytes, timeout, isCancelled);
    } finally {
      place.close();
      // Notifies the next request, which is the first now.
      context.waiters().released(context.device());
    }
  }

  private void checkSize(long bytes) {
    long total = ledger.totalBytes();
    long most = limit == null ? total : Math.min(limit.limitBytes(), total);
    if (bytes > most) {
      throw exceptions.tooLargeToReserve(bytes, most);
    }
  }

  private Reservation await(
      ReservationLedger.Place place,
      MemoryWaiters.Waiter waiter,
      String name,
      long bytes,
      Duration timeout,
      BooleanSupplier isCancelled) {
    long start = System.nanoTime();
    long longest = nanos(timeout);
    while (true) {
      if (isCancelled.getAsBoolean()) {
        throw new CancellationException("cancelled before it was reserved");
      }
      // Before the attempt: a request that becomes the first later is notified.
      boolean isFirst = place.isFirst();
      Reservation granted =
          context
              .state()
              .during(
                  () -> {
                    // Each time, because the limit may have changed.
                    checkSize(bytes);
                    return isFirst ? attempt(name, bytes) : null;
                  });
      if (granted != null) {
        return granted;
      }
      long left = longest - (System.nanoTime() - start);
      if (left <= 0) {
        throw exceptions.notReserved(bytes, timeout, isFirst);
      }
      var _ = waiter.await(left);
    }
  }

  private @Nullable Reservation attempt(String name, long bytes) {
    pools.forgetEnded();
    return recovery.tryRecover(
        bytes,
        () ->
            DeviceReservation.of(ledger, context.manager(), name, bytes, limit, this::whenClosed));
  }

  private void whenClosed() {
    pools.forgetEnded();
    context.waiters().released(context.device());
  }

  private static long nanos(Duration timeout) {
    try {
      return timeout.toNanos();
    } catch (ArithmeticException longerThanCenturies) {
      return Long.MAX_VALUE;
    }
  }

  /** Returns the open reservations of this manager, the oldest first. */
  public List<Reservation> open() {
    return ledger.open().stream()
        .filter(reservation -> reservation.manager().equals(context.manager()))
        .map(Reservation.class::cast)
        .toList();
  }

  /** Notifies waiting requests that the manager is closed. */
  public void managerCloses() {
    context.waiters().released(context.device());
  }

  /** Returns a report for each open reservation of this manager. */
  public List<UnclosedReservationReport> unclosed() {
    return open().stream()
        .map(
            reservation ->
                new UnclosedReservationReport(
                    context.id(), reservation.name(), reservation.bytes(), reservation.usedBytes()))
        .toList();
  }

  /** Closes the open reservations of this manager. */
  public void closeAll() {
    open().forEach(Reservation::close);
  }
}
