package dev.tidepool.testkit.workload;

import dev.tidepool.TidepoolException;
import dev.tidepool.testkit.workload.History.Effect;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** What one operation does to one slot: to the buffer, to the model, and to the history. */
record Steps(Operation operation, Slot slot) {

  /** Writes fresh elements to a range and waits. */
  void write(Range range, SplittableRandom random, Consumer<int[]> action) {
    int[] fresh = fresh(range, random);
    perform(effect(range), () -> action.accept(fresh));
  }

  /** Writes fresh elements to a range in the background. */
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
   * @param silent whether it may fail without a word
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

  /** Reads a range in the background. */
  void readLater(Range range, Function<int[], CompletableFuture<Void>> action) {
    int[] seen = new int[range.count()];
    slot.history.read(operation, ask(() -> action.apply(seen)), seen, expected(range));
  }

  /** Moves the contents about without changing them. */
  void move(Runnable action) {
    perform(Effect.NONE, action);
  }

  /** Does something to the contents and waits. */
  void perform(Effect effect, Runnable action) {
    slot.history.wrote(operation, attempt(action), effect);
  }

  /** Does something to the contents in the background. */
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

  /** Asks, and stops one in eight again where what it leaves out does not matter. */
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
