package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferOutcome;
import dev.tidepool.transfer.TransferReport;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is wrong with one pair of a list is told of that pair, and harms no other. */
class BadTransfersTest {
  private static final int LENGTH = 1000;

  @TempDir private Path folder;

  /** One of a list, and why it fails; empty if it does not. */
  private record Pair(Transfer<?> transfer, String reason) {}

  private static float[] pattern(long seed) {
    return Patterns.array(ElementType.FLOAT, LENGTH, seed);
  }

  private static void assertHolds(UnifiedBuffer<float[]> buffer, long seed) {
    float[] read = new float[LENGTH];
    buffer.copyTo(read);
    Patterns.assertEqual(read, pattern(seed), "what a good pair wrote");
  }

  /** A buffer of a program's own kind that is closed. */
  @SuppressWarnings("unchecked") // No method returns anything.
  private static UnifiedBuffer<float[]> ofSomebodyElse() {
    return (UnifiedBuffer<float[]>)
        Proxy.newProxyInstance(
            BadTransfersTest.class.getClassLoader(),
            new Class<?>[] {UnifiedBuffer.class},
            (_, _, _) -> {
              throw new IllegalStateException("the tape was taken out");
            });
  }

  @ParameterizedTest
  @ValueSource(strings = {"cpu:0", "simulated:0"})
  void eachBadPairIsNamedAndTheGoodOnesArrive(String accelerator) throws IOException {
    Path file = Files.write(folder.resolve("read-only"), new byte[4 * LENGTH]);
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    try (Tidepool tidepool = Discovery.using(List.of(simulated), Tidepool::open);
        Arena arena = Arena.ofShared()) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator(accelerator));
      UnifiedBuffer<float[]> first = memory.allocate(ElementType.FLOAT, LENGTH);
      UnifiedBuffer<float[]> last = memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.HOST);
      UnifiedBuffer<float[]> readOnly = memory.map(file, ElementType.FLOAT, MapMode.READ);
      UnifiedBuffer<float[]> closed = first.slice(0, 10);
      closed.close();
      Arena ended = Arena.ofShared();
      UnifiedBuffer<float[]> withoutMemory =
          memory.wrap(ElementType.FLOAT, ended.allocate(4 * LENGTH, 4));
      MemorySegment gone = ended.allocate(40, 4);
      ended.close();
      List<Pair> pairs =
          List.of(
              new Pair(Transfer.of(pattern(1), first), ""),
              new Pair(Transfer.of(pattern(9), readOnly), "look at it by asReadOnlySegment()"),
              new Pair(Transfer.of(closed, new float[10]), "closed; take another"),
              new Pair(Transfer.of(new float[10], closed), "closed; take another"),
              new Pair(Transfer.of(withoutMemory, first), "its arena was closed"),
              new Pair(Transfer.of(first, withoutMemory), "its arena was closed"),
              new Pair(Transfer.of(first, last), ""),
              new Pair(Transfer.of(ofSomebodyElse(), first), "the tape was taken out"),
              new Pair(Transfer.of(first.slice(1, 999), first.slice(0, 999)), "overlap"),
              new Pair(Transfer.of(first, last.slice(0, 999)), "has room for 3996 bytes"),
              new Pair(Transfer.of(arena.allocate(3), first), "3 bytes"),
              new Pair(Transfer.of(gone, last.slice(0, 10)), "closed"));
      TransferReport report =
          memory
              .transfers()
              .transfer(pairs.stream().map(Pair::transfer).toList(), TransferOptions.defaults());
      assertThat(report.failures()).isEqualTo(10);
      for (int i = 0; i < pairs.size(); i++) {
        TransferOutcome outcome = report.outcomes().get(i);
        String reason = pairs.get(i).reason();
        assertThat(outcome.isDone()).as("pair %d", i + 1).isEqualTo(reason.isEmpty());
        if (!reason.isEmpty()) {
          assertThat(outcome.cause().orElseThrow())
              .isInstanceOf(TransferException.class)
              .hasMessageStartingWith("transfer %d of 12: ".formatted(i + 1))
              .hasMessageContaining(reason);
        }
      }
      assertHolds(first, 1);
      assertHolds(last, 1);
      List.of(first, last, readOnly, withoutMemory).forEach(UnifiedBuffer::close);
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void aSegmentThatIsGoneWhenItsTurnComesFailsAlone() {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    try (Tidepool tidepool = Discovery.using(List.of(simulated), Tidepool::open)) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
      UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, LENGTH);
      UnifiedBuffer<float[]> other = memory.allocate(ElementType.FLOAT, 100);
      MemorySegment gone;
      try (Arena arena = Arena.ofShared()) {
        gone = arena.allocate(400, 4);
      }
      TransferReport report =
          memory
              .transfers()
              .transfer(
                  List.of(
                      Transfer.of(pattern(1), buffer),
                      Transfer.of(gone, other),
                      Transfer.of(new float[LENGTH], buffer),
                      Transfer.of(pattern(2), buffer)),
                  TransferOptions.defaults());
      assertThat(report.outcomes())
          .extracting(TransferOutcome::isDone)
          .containsExactly(true, false, true, true);
      assertHolds(buffer, 2);
      buffer.close();
      other.close();
    }
    assertThat(simulated.violations()).isEmpty();
  }
}
