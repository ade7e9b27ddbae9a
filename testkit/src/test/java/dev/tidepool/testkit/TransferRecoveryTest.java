package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferOutcome;
import dev.tidepool.transfer.TransferOutcome.Status;
import dev.tidepool.transfer.TransferReport;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What fails is tried again where that makes sense, and fails alone where it does not. */
@ExtendWith(QuietLog.class)
@Timeout(60)
class TransferRecoveryTest {
  private static final int LENGTH = 100_000;
  private static final int FEW = 4;
  private static final TransferOptions PLAIN = TransferOptions.defaults();

  @RegisterExtension
  private final SimulatedRig rig =
      new SimulatedRig(MemoryOptions.builder().transferRetryTime(Duration.ofMinutes(5)));

  private final UnifiedMemoryManager memory = rig.memory();

  private static float[] pattern(long seed) {
    return Patterns.array(ElementType.FLOAT, LENGTH, seed);
  }

  private UnifiedBuffer<float[]> buffer() {
    return memory.allocate(ElementType.FLOAT, LENGTH);
  }

  private static void assertHolds(UnifiedBuffer<float[]> buffer, long seed) {
    float[] read = new float[LENGTH];
    buffer.copyTo(read);
    Patterns.assertEqual(read, pattern(seed), "the buffer");
  }

  private TransferReport transfer(TransferOptions options, Transfer<?>... pairs) {
    return memory.transfers().transfer(List.of(pairs), options);
  }

  private long retries() {
    return memory.transfers().statistics().retries();
  }

  @Test
  void aDisturbedTransferIsDoneAgain() {
    UnifiedBuffer<float[]> buffer = buffer();
    rig.faults().fail(SpiCall.WRITE, 1, Failure.TRANSIENT);
    buffer.copyFrom(pattern(1));
    assertHolds(buffer, 1);
    rig.faults().fail(SpiCall.WRITE, 1, Failure.TRANSIENT);
    buffer.copyFromAsync(pattern(2)).join();
    rig.faults().fail(SpiCall.READ, 1, Failure.TRANSIENT);
    assertHolds(buffer, 2);
    rig.faults().fail(SpiCall.WRITE, 1, Failure.TRANSIENT);
    TransferOutcome outcome =
        transfer(PLAIN, Transfer.of(pattern(3), buffer)).orThrow().outcomes().getFirst();
    assertThat(outcome.attempts()).isEqualTo(2);
    assertHolds(buffer, 3);
    assertThat(retries()).isEqualTo(4);
  }

  @Test
  void aFetchAndAPushAreDoneAgainToo() {
    UnifiedBuffer<float[]> buffer = buffer();
    buffer.copyFrom(pattern(1));
    rig.faults().fail(SpiCall.READ, 1, Failure.TRANSIENT);
    ElementType.FLOAT.write(pattern(2), 0, buffer.asSegment(), 0, LENGTH);
    rig.faults().fail(SpiCall.WRITE, 1, Failure.TRANSIENT);
    buffer.synchronize();
    assertThat(buffer.state()).isEqualTo(BufferState.SYNCHRONIZED);
    assertHolds(buffer, 2);
    assertThat(retries()).isEqualTo(2);
  }

  @Test
  void attemptsEndAndTheBufferLivesOn() {
    UnifiedBuffer<float[]> buffer = buffer();
    UnifiedBuffer<float[]> other = memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.HOST);
    buffer.copyFrom(pattern(1));
    rig.faults().failAlways(SpiCall.WRITE, Failure.TRANSIENT);
    TransferReport report =
        transfer(PLAIN, Transfer.of(pattern(2), buffer), Transfer.of(pattern(3), other));
    TransferOutcome outcome = report.outcomes().getFirst();
    assertThat(outcome.status()).isEqualTo(Status.FAILED);
    assertThat(outcome.attempts()).isEqualTo(4);
    assertThat(outcome.cause().orElseThrow())
        .hasMessageStartingWith("transfer 1 of 2: ")
        .hasRootCauseInstanceOf(AcceleratorException.class);
    assertThat(report.outcomes().get(1).isDone()).isTrue();
    assertHolds(other, 3);
    TransferOptions once = TransferOptions.builder().retries(0).build();
    assertThat(transfer(once, Transfer.of(pattern(2), buffer)).outcomes().getFirst().attempts())
        .isEqualTo(1);
    rig.faults().disarm();
    assertThat(buffer.state()).isEqualTo(BufferState.DEVICE_ONLY);
    buffer.copyFrom(pattern(4));
    assertHolds(buffer, 4);
  }

  @Test
  void aPermanentErrorIsNotTriedAgainAndFailsOneAlone() {
    UnifiedBuffer<float[]> one = buffer();
    UnifiedBuffer<float[]> two = buffer();
    rig.faults().fail(SpiCall.WRITE, 1, Failure.BROKEN);
    TransferOptions inOrder = TransferOptions.builder().maxConcurrency(1).build();
    TransferReport report =
        transfer(inOrder, Transfer.of(pattern(1), one), Transfer.of(pattern(2), two));
    assertThat(report.outcomes())
        .extracting(TransferOutcome::status)
        .containsExactly(Status.FAILED, Status.DONE);
    assertThat(report.outcomes().getFirst().attempts()).isEqualTo(1);
    assertHolds(two, 2);
    assertThat(retries()).isZero();
  }

  @Test
  void aLostDeviceFailsEachTransferOnceAndLeavesTheHostsBytes() {
    UnifiedBuffer<float[]> kept = memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.HOST);
    kept.copyFrom(pattern(1));
    kept.prefetchToDevice();
    memory.synchronize();
    List<Transfer<?>> pairs = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      pairs.add(Transfer.of(pattern(i), buffer()));
    }
    UnifiedBuffer<byte[]> small = memory.allocate(ElementType.BYTE, 10_000);
    for (int i = 0; i < 10; i++) {
      pairs.add(Transfer.of(new byte[100], small.slice(i * 1000L, 100)));
    }
    rig.faults().fail(SpiCall.WRITE, 1, Failure.DEVICE_LOST);
    TransferReport report = memory.transfers().transfer(pairs, PLAIN);
    assertThat(report.failures()).isEqualTo(15);
    assertThat(report.outcomes()).allMatch(outcome -> outcome.attempts() <= 1);
    assertThat(retries()).isZero();
    assertThat(kept.state()).isEqualTo(BufferState.SYNCHRONIZED);
    assertHolds(kept, 1);
    float[] seen = new float[LENGTH];
    ElementType.FLOAT.read(kept.asReadOnlySegment(), 0, seen, 0, LENGTH);
    Patterns.assertEqual(seen, pattern(1), "the host's view");
  }

  @Test
  void aBatchThatFailsIsTakenApart() {
    for (Failure failure : List.of(Failure.TRANSIENT, Failure.BROKEN, Failure.REFUSED)) {
      UnifiedBuffer<float[]> target = buffer();
      target.copyFrom(pattern(1));
      float[] model = pattern(1);
      List<Transfer<?>> pairs = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        float[] fresh = Patterns.array(ElementType.FLOAT, 100, i);
        pairs.add(Transfer.of(fresh, target.slice(i * 1000L, 100)));
        System.arraycopy(fresh, 0, model, i * 1000, 100);
      }
      // The call of one of them, when they go together; it goes well when it goes alone.
      rig.faults().fail(SpiCall.SCATTER, 1, failure);
      memory.transfers().transfer(pairs, PLAIN).orThrow();
      assertThat(rig.faults().fired()).contains(SpiCall.SCATTER);
      float[] read = new float[LENGTH];
      target.copyTo(read);
      Patterns.assertEqual(read, model, "the buffer after " + failure);
    }
  }

  @Test
  void aBatchOfReadsThatFailsIsTakenApartToo() {
    UnifiedBuffer<float[]> source = buffer();
    source.copyFrom(pattern(1));
    for (Failure failure : List.of(Failure.TRANSIENT, Failure.BROKEN, Failure.REFUSED)) {
      List<Transfer<?>> pairs = new ArrayList<>();
      List<float[]> seen = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        seen.add(new float[100]);
        pairs.add(Transfer.of(source.slice(i * 1000L, 100), seen.getLast()));
      }
      rig.faults().fail(SpiCall.GATHER, 1, failure);
      memory.transfers().transfer(pairs, PLAIN).orThrow();
      assertThat(rig.faults().fired()).contains(SpiCall.GATHER);
      for (int i = 0; i < 50; i++) {
        float[] expected = Arrays.copyOfRange(pattern(1), i * 1000, i * 1000 + 100);
        Patterns.assertEqual(seen.get(i), expected, "part " + i + " after " + failure);
      }
      assertThat(source.state()).isEqualTo(BufferState.DEVICE_ONLY);
    }
  }

  @Test
  void aSegmentThatIsGoneWhenItsBytesComeFailsItsTransferAlone() {
    UnifiedBuffer<float[]> source = buffer();
    source.copyFrom(pattern(1));
    Arena arena = Arena.ofShared();
    List<Transfer<?>> pairs = new ArrayList<>();
    List<float[]> seen = new ArrayList<>();
    for (int i = 0; i < FEW; i++) {
      seen.add(new float[100]);
      pairs.add(Transfer.of(source.slice(i * 1000L, 100), seen.getLast()));
    }
    pairs.add(1, Transfer.of(source.slice(0, 100), arena.allocate(400)));
    rig.device().pause();
    CompletableFuture<TransferReport> asked = memory.transfers().transferAsync(pairs, PLAIN);
    arena.close();
    rig.device().resume();
    TransferReport report = asked.join();
    assertThat(report.failures()).isEqualTo(1);
    assertThat(report.outcomes().get(1).cause().orElseThrow())
        .hasMessageStartingWith("transfer 2 of 5: ");
    for (int i = 0; i < FEW; i++) {
      float[] expected = Arrays.copyOfRange(pattern(1), i * 1000, i * 1000 + 100);
      Patterns.assertEqual(seen.get(i), expected, "part " + i);
    }
  }

  @Test
  void smallTransfersBehindOneThatFailedFailWithTheSameCause() {
    UnifiedBuffer<float[]> target = buffer();
    UnifiedBuffer<float[]> host = memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.HOST);
    List<Transfer<?>> pairs = new ArrayList<>();
    // Too few to be scattered, but together all the same.
    for (int i = 0; i < FEW; i++) {
      pairs.add(Transfer.of(new float[100], target.slice(i * 1000L, 100)));
    }
    pairs.add(Transfer.of(pattern(2), host));
    rig.faults().failAlways(SpiCall.WRITE, Failure.BROKEN);
    TransferReport report = memory.transfers().transfer(pairs, PLAIN);
    assertThat(report.failures()).isEqualTo(FEW);
    assertThat(report.outcomes().getLast().isDone()).isTrue();
    assertHolds(host, 2);
    rig.faults().disarm();
    target.copyFrom(pattern(3));
    assertHolds(target, 3);
  }

  @Test
  void whatArrivesDamagedIsNoticedWhereItIsVerified() {
    UnifiedBuffer<float[]> buffer = buffer();
    TransferOptions verified = TransferOptions.builder().verified(true).build();
    rig.faults().fail(SpiCall.WRITE, 1, Failure.DAMAGED);
    TransferOutcome healed =
        transfer(verified, Transfer.of(pattern(1), buffer)).orThrow().outcomes().getFirst();
    assertThat(healed.attempts()).isEqualTo(2);
    assertHolds(buffer, 1);
    rig.faults().failAlways(SpiCall.WRITE, Failure.DAMAGED);
    TransferReport report = transfer(verified, Transfer.of(pattern(1), buffer));
    assertThatThrownBy(report::orThrow)
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("arrived damaged");
    assertThat(transfer(PLAIN, Transfer.of(pattern(1), buffer)).failures())
        .as("without verification nobody can tell")
        .isZero();
  }

  @Test
  void withoutRetriesTheFirstErrorIsTheLast() {
    try (UnifiedMemoryManager strict =
            UnifiedMemoryManager.create(
                memory.accelerator(), MemoryOptions.builder().transferRetries(0).build());
        UnifiedBuffer<float[]> buffer = strict.allocate(ElementType.FLOAT, LENGTH)) {
      rig.faults().fail(SpiCall.WRITE, 1, Failure.TRANSIENT);
      assertThatThrownBy(() -> buffer.copyFrom(pattern(1))).isInstanceOf(TransferException.class);
      rig.faults().fail(SpiCall.WRITE, 1, Failure.TRANSIENT);
      assertThatThrownBy(() -> buffer.copyFromAsync(pattern(1)).join())
          .isInstanceOf(CompletionException.class)
          .hasCauseInstanceOf(TransferException.class);
    }
    try (UnifiedMemoryManager hasty =
            UnifiedMemoryManager.create(
                memory.accelerator(),
                MemoryOptions.builder().transferRetryTime(Duration.ZERO).build());
        UnifiedBuffer<float[]> buffer = hasty.allocate(ElementType.FLOAT, LENGTH)) {
      rig.faults().fail(SpiCall.WRITE, 1, Failure.TRANSIENT);
      assertThatThrownBy(() -> buffer.copyFrom(pattern(1))).isInstanceOf(TransferException.class);
    }
  }
}
