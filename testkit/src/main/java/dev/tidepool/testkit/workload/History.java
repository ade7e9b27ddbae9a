package dev.tidepool.testkit.workload;

import dev.tidepool.TidepoolException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;

/**
 * The unchecked operations on one buffer, in the order of the requests. Used with the lock of the
 * slot held.
 *
 * <p>A failed write makes the contents unknown until all of them are written. Every other
 * successful operation must have seen exactly what was written before.
 */
final class History {
  private static final int LONGEST = 12;

  /** The number of checked operations that are reported if a later one fails. */
  private static final int REMEMBERED = 24;

  private final boolean failuresExpected;
  private final Deque<Step> steps = new ArrayDeque<>();
  private final Deque<Checked> checked = new ArrayDeque<>();
  private boolean unknown;
  private long verified;

  History(boolean failuresExpected) {
    this.failuresExpected = failuresExpected;
  }

  /** Returns whether operations may fail or be cancelled. */
  boolean expectsFailures() {
    return failuresExpected;
  }

  /** The effect of an operation on the contents. */
  enum Effect {
    /** Reads or moves the contents. */
    NONE,
    /** Writes a part. */
    PART,
    /** Writes everything. */
    ALL,
    /** Leaves unknown contents, because their source is unknown. */
    SPOIL
  }

  /** An operation; {@code seen} and {@code expected} are empty unless it reads. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Step(
      Operation operation, CompletableFuture<?> done, Effect effect, int[] seen, int[] expected) {}

  /** A checked operation. */
  private record Checked(Operation operation, Effect effect, boolean succeeded) {
    @Override
    public String toString() {
      return "%s: %s, %s".formatted(operation, effect, succeeded ? "done" : "failed or stopped");
    }
  }

  /** Records an operation that changes or moves contents. */
  void wrote(Operation operation, CompletableFuture<?> done, Effect effect) {
    add(new Step(operation, done, effect, new int[0], new int[0]));
  }

  /** Records an operation that reads, to be checked after its end. */
  void read(Operation operation, CompletableFuture<?> done, int[] seen, int[] expected) {
    add(new Step(operation, done, Effect.NONE, seen, expected));
  }

  private void add(Step step) {
    steps.add(step);
    if (steps.size() > LONGEST) {
      check(steps.remove());
    }
  }

  /** Waits for all operations and checks them. */
  void settle() {
    while (!steps.isEmpty()) {
      check(steps.remove());
    }
  }

  /** Returns whether the contents are unknown; valid only after {@link #settle}. */
  boolean isUnknown() {
    return unknown;
  }

  /** Returns the number of compared elements. */
  long verified() {
    return verified;
  }

  private void check(Step step) {
    boolean succeeded = succeeded(step);
    checked.add(new Checked(step.operation(), step.effect(), succeeded));
    if (checked.size() > REMEMBERED) {
      checked.remove();
    }
    if (step.effect() != Effect.NONE) {
      unknown =
          !succeeded || step.effect() == Effect.SPOIL || (unknown && step.effect() != Effect.ALL);
    } else if (succeeded && !unknown) {
      compare(step);
    }
  }

  private boolean succeeded(Step step) {
    try {
      step.done().join();
      return true;
    } catch (CompletionException | CancellationException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      if (failuresExpected
          && (cause instanceof TidepoolException || cause instanceof CancellationException)) {
        return false;
      }
      throw new WorkloadFailure(step.operation(), "failed: " + cause, cause);
    }
  }

  private void compare(Step step) {
    int mismatch = Arrays.mismatch(step.seen(), step.expected());
    if (mismatch >= 0) {
      throw new WorkloadFailure(
          step.operation(),
          "element %s of %s is %s, but %s was written last; on this buffer so far:%n  %s"
              .formatted(
                  mismatch,
                  step.expected().length,
                  step.seen()[mismatch],
                  step.expected()[mismatch],
                  checked.stream().map(Checked::toString).collect(Collectors.joining("\n  "))),
          null);
    }
    verified += step.expected().length;
  }
}
