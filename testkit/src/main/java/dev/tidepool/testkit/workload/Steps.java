package dev.tidepool.testkit.workload;

import dev.tidepool.TidepoolException;
import dev.tidepool.testkit.workload.History.Effect;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** The effects of one operation on one slot: on the buffer, the model and the history. */
record Steps(Operation operation, Slot slot) {

  /** Writes fresh elements to a range and waits. */
  void write(Range range, SplittableRandom random, Consumer<int[]> action) {
    int[] fresh = fresh(range, random);
    perform(effect(range), () -> action.accept(fresh));
  }

  /** Writes fresh elements to a range asynchronously. */
  void writeLater(
      Range range, SplittableRandom random, Function<int[], CompletableFuture<Void>> action) {
    int[] fresh = fresh(range, random);
    performLater(effect(range), () -> action.apply(fresh));
  }

  /** Sets each element of a range and waits. */
  void set(Range range, int value, Runnable action) {
    set(range, value, false, action);
  }

  /**
   * Like the method above.
   *
   * @param silent whether the operation may fail without an error
   */
  void set(Range range, int value, boolean silent, Runnable action) {
    Arrays.fill(slot.model, range.from(), range.from() + range.count(), value);
    perform(silent ? Effect.SPOIL : effect(range), action);
  }

  /** Reads a range and waits. */
  void read(Range range, Consumer<int[]> action) {
    int[] seen = new int[range.count()];
    slot.history.read(operation, attempt(() -> action.accept(seen)), seen, expected(range));
  }

  /** Reads a range asynchronously. */
  void readLater(Range range, Function<int[], CompletableFuture<Void>> action) {
    int[] seen = new int[range.count()];
    slot.history.read(operation, ask(() -> action.apply(seen)), seen, expected(range));
  }

  /** Moves the contents without changing them. */
  void move(Runnable action) {
    perform(Effect.NONE, action);
  }

  /** Performs an operation on the contents and waits. */
  void perform(Effect effect, Runnable action) {
    slot.history.wrote(operation, attempt(action), effect);
  }

  /** Performs an operation on the contents asynchronously. */
  void performLater(Effect effect, Supplier<CompletableFuture<Void>> action) {
    slot.history.wrote(operation, ask(action), effect);
  }

  private Effect effect(Range range) {
    return range.count() == slot.model.length ? Effect.ALL : Effect.PART;
  }

  private int[] fresh(Range range, SplittableRandom random) {
    int[] fresh = Range.fresh(range.count(), random);
    System.arraycopy(fresh, 0, slot.model, range.from(), fresh.length);
    return fresh;
  }

  private int[] expected(Range range) {
    return Arrays.copyOfRange(slot.model, range.from(), range.from() + range.count());
  }

  private static CompletableFuture<?> attempt(Runnable action) {
    try {
      action.run();
      return CompletableFuture.completedFuture(null);
    } catch (TidepoolException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Requests an operation. If failures are expected, cancels one in eight. */
  private CompletableFuture<?> ask(Supplier<CompletableFuture<Void>> action) {
    try {
      CompletableFuture<Void> asked = action.get();
      if (slot.history.expectsFailures() && Math.floorMod(operation.seed(), 8) == 0) {
        asked.cancel(false);
      }
      return asked;
    } catch (TidepoolException e) {
      return CompletableFuture.failedFuture(e);
    }
  }
}
