package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.Transfer;
import dev.tidepool.TransferOptions;
import dev.tidepool.TransferReport;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Transfers to one buffer, on a device that is held and let go: what is under way together. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TransferOverlapTest {
  private static final int PART = 512 << 10;
  private static final int PARTS = 6;

  private final SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
  private final Tidepool tidepool =
      Discovery.using(
          List.of(simulated),
          () -> Tidepool.open(MemoryOptions.builder().calibration(false).build()));
  private final UnifiedMemoryManager memory = tidepool.memory();
  private final SimulatedDevice device = simulated.device("simulated:0");
  private final UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, PARTS * PART);
  private final byte[] model = new byte[PARTS * PART];

  @AfterEach
  void close() {
    device.resume();
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
    assertThat(device.openEvents()).isZero();
  }

  /** A part that begins somewhere, each of other bytes. */
  private Transfer<?> part(int at) {
    byte[] bytes = Patterns.array(ElementType.BYTE, PART, at);
    System.arraycopy(bytes, 0, model, at, PART);
    return Transfer.of(bytes, buffer.slice(at, PART));
  }

  private CompletableFuture<TransferReport> ask(List<Transfer<?>> parts) {
    return memory.transfers().transferAsync(parts, TransferOptions.defaults());
  }

  private long writes() {
    return device.ledger().calls(SpiCall.WRITE);
  }

  private void assertEqualsModel() {
    byte[] seen = new byte[model.length];
    buffer.copyTo(seen);
    Patterns.assertEqual(seen, model, "after the last part");
  }

  @Test
  void whatTouchesOtherBytesIsUnderWayBeforeTheFirstHasArrived() {
    device.pause();
    List<Transfer<?>> parts = new ArrayList<>();
    for (int i = 0; i < PARTS; i++) {
      parts.add(part(i * PART));
    }
    CompletableFuture<TransferReport> report = ask(parts);
    await().atMost(Duration.ofSeconds(20)).until(() -> writes() == PARTS);
    device.resume();
    report.join().orThrow();
    assertEqualsModel();
  }

  @Test
  void whatTouchesTheSameBytesComesInTheOrderAsked() {
    buffer.fill((byte) 0);
    List<Transfer<?>> parts = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      parts.add(part(i * 7919 * 64 % (model.length - PART)));
    }
    ask(parts).join().orThrow();
    assertEqualsModel();
  }

  @Test
  void aListenerHoldsUpNobodyThatTravelledWithIts() {
    byte[] seen = new byte[4];
    List<Transfer<?>> small = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      small.add(Transfer.of(new byte[] {(byte) (i + 1)}, buffer.slice(i, 1)));
    }
    TransferOptions options =
        TransferOptions.builder()
            // Behind all of them in the order of the buffer.
            .progress((_, _) -> buffer.copyTo(0, seen, 0, 4))
            .build();
    memory.transfers().transferAsync(small, options).join().orThrow();
    assertThat(seen).containsExactly(1, 2, 3, 4);
  }
}
