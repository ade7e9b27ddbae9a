package dev.tidepool.testkit.workload;

import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.testkit.workload.History.Effect;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferOutcome;
import dev.tidepool.transfer.TransferPriority;
import dev.tidepool.transfer.TransferReport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;

/**
 * A random list of transfers, which write, read, or copy to parts of one buffer. Each pair is a
 * step in the history of the buffer, in the order of the list. Used by one thread, with the locks
 * of the slots held.
 */
final class TransferList {
  private final Operation operation;
  private final Slot slot;
  private final UnifiedBuffer<int[]> buffer;
  private final SplittableRandom random;
  private final List<Transfer<?>> pairs = new ArrayList<>();
  private final List<Check> checks = new ArrayList<>();
  private final List<UnifiedBuffer<int[]>> slices = new ArrayList<>();

  /** The effect of one pair; {@code seen} and {@code expected} are empty unless it reads. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Check(boolean reads, Effect effect, int[] seen, int[] expected) {}

  TransferList(
      Operation operation, Slot slot, UnifiedBuffer<int[]> buffer, SplittableRandom random) {
    this.operation = operation;
    this.slot = slot;
    this.buffer = buffer;
    this.random = random;
  }

  /** Adds random pairs, some of which read the other slot, if it has a buffer. */
  void draw(Slot other, boolean otherIsUnknown) {
    int most = 1 + random.nextInt(3);
    for (int i = 0; i < most; i++) {
      switch (random.nextInt(4)) {
        case 0 -> write(Range.in(slot.model.length, random));
        case 1 -> read(Range.in(slot.model.length, random));
        case 2 -> manySmall();
        default -> copy(other, otherIsUnknown);
      }
    }
  }

  private UnifiedBuffer<int[]> slice(UnifiedBuffer<int[]> of, int from, int count) {
    UnifiedBuffer<int[]> slice = of.slice(from, count);
    slices.add(slice);
    return slice;
  }

  private void write(Range range) {
    int[] fresh = Range.fresh(range.count(), random);
    System.arraycopy(fresh, 0, slot.model, range.from(), fresh.length);
    pairs.add(Transfer.of(fresh, slice(buffer, range.from(), range.count())));
    Effect effect = range.count() == slot.model.length ? Effect.ALL : Effect.PART;
    checks.add(new Check(false, effect, new int[0], new int[0]));
  }

  private void manySmall() {
    for (int i = 0; i < 5 && slot.model.length > 0; i++) {
      int count = 1 + random.nextInt(Math.min(8, slot.model.length));
      write(new Range(random.nextInt(1 + slot.model.length - count), count));
    }
  }

  private void read(Range range) {
    int[] seen = new int[range.count()];
    int[] expected = Arrays.copyOfRange(slot.model, range.from(), range.from() + range.count());
    pairs.add(Transfer.of(slice(buffer, range.from(), range.count()), seen));
    checks.add(new Check(true, Effect.NONE, seen, expected));
  }

  private void copy(Slot other, boolean otherIsUnknown) {
    UnifiedBuffer<int[]> source = other.buffer;
    if (source == null || other == slot) {
      return;
    }
    int count = random.nextInt(1 + Math.min(slot.model.length, other.model.length));
    int from = random.nextInt(1 + other.model.length - count);
    int to = random.nextInt(1 + slot.model.length - count);
    System.arraycopy(other.model, from, slot.model, to, count);
    pairs.add(Transfer.of(slice(source, from, count), slice(buffer, to, count)));
    Effect whole = count == slot.model.length ? Effect.ALL : Effect.PART;
    checks.add(new Check(false, otherIsUnknown ? Effect.SPOIL : whole, new int[0], new int[0]));
  }

  /**
   * Requests the list, and records the outcome of each pair in the history.
   *
   * @param stoppable whether transfers may be cancelled, which spoils their targets
   */
  void ask(boolean later, boolean stoppable) {
    TransferOptions options = options(stoppable);
    CompletableFuture<TransferReport> report =
        Objects.requireNonNull(slot.manager, "the manager that allocated it")
            .transfers()
            .transferAsync(pairs, options);
    slices.forEach(UnifiedBuffer::close);
    if (stoppable && random.nextInt(8) == 0) {
      report.cancel(false);
    }
    for (int i = 0; i < checks.size(); i++) {
      int index = i;
      Check check = checks.get(i);
      CompletableFuture<Void> done =
          report.thenCompose(ended -> arrived(ended.outcomes().get(index)));
      if (check.reads()) {
        slot.history.read(operation, done, check.seen(), check.expected());
      } else {
        slot.history.wrote(operation, done, check.effect());
      }
    }
    if (!later) {
      report.join();
    }
  }

  private static CompletableFuture<Void> arrived(TransferOutcome outcome) {
    return switch (outcome.status()) {
      case DONE -> CompletableFuture.completedFuture(null);
      case FAILED -> CompletableFuture.failedFuture(outcome.cause().orElseThrow());
      case CANCELLED, LATE ->
          CompletableFuture.failedFuture(new TransferException("stopped", null));
    };
  }

  private TransferOptions options(boolean stoppable) {
    TransferPriority[] priorities = TransferPriority.values();
    TransferOptions.Builder builder =
        TransferOptions.builder()
            .priority(priorities[random.nextInt(priorities.length)])
            .maxConcurrency(random.nextInt(4))
            .pinned(random.nextInt(4) != 0)
            .pipelining(random.nextInt(4) != 0)
            .chunkSize(4096L * random.nextInt(3))
            .verified(random.nextInt(4) == 0);
    if (stoppable && random.nextInt(8) == 0) {
      builder.deadline(Duration.ofNanos(1 + random.nextInt(1_000_000)));
    }
    return builder.build();
  }
}
