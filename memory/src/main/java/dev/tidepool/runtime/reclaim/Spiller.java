package dev.tidepool.runtime.reclaim;

import dev.tidepool.TransferException;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.events.SpillEvent;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.storage.SpillStore;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.threads.SessionExecutors;
import dev.tidepool.spi.support.FailureLog;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a manager's idle buffers go to a file when memory is short, and come back when touched.
 *
 * <p>To spill is work in the storage's order, with nothing beside it, and is only done where
 * nothing is ahead, or ahead of work that has not begun. So no work finds a buffer that is half in
 * the file, and no thread waits for another buffer's work while it frees memory for its own.
 */
final class Spiller {

  private Spiller() {}

  /**
   * Writes an idle storage's bytes to the file and gives its memory up; returns whether it did.
   *
   * @throws TransferException if the file takes no more; the storage is as it was then
   */
  static boolean spill(SpillStore store, Storage storage, Executor executor) {
    Attempt attempt = new Attempt();
    operation(store, storage, executor, attempt::done, attempt::refused)
        .performIfIdle(storage.runsHere());
    return attempt.isDone();
  }

  /**
   * Like {@link #spill}, but also where operations on the storage are queued, as long as none has
   * begun.
   *
   * @throws TransferException if the file takes no more; the storage is as it was then
   */
  static boolean spillBeforeUse(SpillStore store, Storage storage) {
    Attempt attempt = new Attempt();
    SessionExecutors.offCarrier(
        () -> storage.moveIfUnused(() -> attempt(store, storage, attempt::done, attempt::refused)));
    return attempt.isDone();
  }

  /**
   * Like {@link #spill}, but behind the operations that are queued.
   *
   * @throws TransferException if the file takes no more; the storage is as it was then
   */
  static boolean spillInTurn(SpillStore store, Storage storage, Executor executor) {
    Attempt attempt = new Attempt();
    Operation spill = operation(store, storage, executor, attempt::done, attempt::refused);
    if (spill.requestIfOpen()) {
      storage.awaitUnlessLent(spill);
    }
    return attempt.isDone();
  }

  /** What became of one attempt, which another thread may have made. */
  private static final class Attempt {
    private final AtomicBoolean done = new AtomicBoolean();
    private final AtomicReference<@Nullable TransferException> refusal = new AtomicReference<>();

    void done() {
      done.set(true);
    }

    void refused(TransferException refused) {
      refusal.set(refused);
    }

    boolean isDone() {
      TransferException refused = refusal.get();
      if (refused != null) {
        throw refused;
      }
      return done.get();
    }
  }

  /** Returns the spill as work that is not submitted yet. */
  static Operation operation(
      SpillStore store,
      Storage storage,
      Executor executor,
      Runnable spilled,
      Consumer<TransferException> refused) {
    return Operation.moving(
        List.of(storage), executor, () -> attempt(store, storage, spilled, refused));
  }

  /** Spills a storage that the calling thread keeps work off. */
  static void attempt(
      SpillStore store, Storage storage, Runnable spilled, Consumer<TransferException> refused) {
    try {
      SpillEvent event = FlightEvents.spill();
      if (storage.coherence().spill(store)) {
        spilled.run();
        if (event != null) {
          event.spilled(storage.context().id(), storage.core().tag(), storage.byteSize());
        }
      }
    } catch (TransferException e) {
      // Not the failure of what comes behind on this storage: its bytes are all there.
      refused.accept(e);
    } catch (RuntimeException | InternalError e) {
      FailureLog.debug(storage + " could not be spilled; it stays where it is", e);
    }
  }
}
