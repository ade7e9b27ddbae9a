package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferReport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Transfers to one buffer, on a device that is held and let go: what is under way together. */
@Timeout(60)
class TransferOverlapTest {
  private static final int PART = 512 << 10;
  private static final int PARTS = 6;

  @RegisterExtension
  private final SimulatedRig rig = new SimulatedRig(MemoryOptions.builder().calibration(false));

  private final UnifiedMemoryManager memory = rig.memory();
  private final SimulatedDevice device = rig.device();
  private final UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, PARTS * PART);
  private final byte[] model = new byte[PARTS * PART];

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
    return rig.calls(SpiCall.WRITE);
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
