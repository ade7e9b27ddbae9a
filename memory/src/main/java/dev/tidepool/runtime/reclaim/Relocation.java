package dev.tidepool.runtime.reclaim;

import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.threads.SessionExecutors;
import dev.tidepool.spi.support.FailureLog;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Frees memory of one buffer by moving its bytes. The methods differ in the time of the move.
 *
 * <p>An exclusive operation in the storage's queue moves the bytes, or a thread moves them before
 * queued operations begin. So no operation finds a buffer that is half moved, and no thread waits
 * for another buffer's operations while it frees memory for its own. A failure leaves the bytes in
 * place, and affects neither later operations nor the request.
 *
 * <p>Used by one thread, and by the thread that moves the bytes for it.
 */
abstract class Relocation {
  final Storage storage;
  private volatile boolean freed;
  private volatile @Nullable Throwable failure;

  Relocation(Storage storage) {
    this.storage = storage;
  }

  /** Moves the bytes, while no operation uses the storage; returns whether that freed memory. */
  abstract boolean move();

  /** Moves the bytes if the storage is idle; returns whether that freed memory. */
  boolean ifIdle() {
    performIfIdle();
    return hasFreed();
  }

  /** Like {@link #ifIdle}, but allows queued operations of which none has begun. */
  boolean beforeUse() {
    SessionExecutors.offCarrier(() -> storage.moveIfUnused(this::attempt));
    return hasFreed();
  }

  /**
   * Like {@link #ifIdle}; if the storage is not idle, queues the move and waits for it, unless the
   * bytes are lent.
   */
  boolean inTurn() {
    if (ifIdle()) {
      return true;
    }
    Operation moving = operation();
    if (moving.requestIfOpen()) {
      storage.awaitUnlessLent(moving);
    }
    return hasFreed();
  }

  /** Queues the move, and does not wait for it. */
  Operation request() {
    Operation moving = operation();
    if (!moving.requestIfOpen()) {
      moving.cancel();
    }
    return moving;
  }

  /** Moves the bytes if the storage is idle; returns whether it was. */
  boolean performIfIdle() {
    return operation().performIfIdle(storage.runsHere());
  }

  private Operation operation() {
    return Operation.moving(List.of(storage), this::attempt);
  }

  private void attempt() {
    try {
      freed = move();
    } catch (RuntimeException | InternalError e) {
      failure = e;
      FailureLog.debug(storage + " could not be moved; it stays where it is", e);
    }
  }

  /** Returns whether the last attempt freed memory. */
  boolean hasFreed() {
    return freed;
  }

  @Nullable Throwable failure() {
    return failure;
  }
}
