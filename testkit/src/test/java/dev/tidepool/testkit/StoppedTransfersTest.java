package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferOutcome;
import dev.tidepool.transfer.TransferOutcome.Status;
import dev.tidepool.transfer.TransferReport;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Cancelling a list stops all that has not started, whatever way it would have taken. */
@Timeout(60)
class StoppedTransfersTest {
  private static final int PAIRS = 20;

  @RegisterExtension private final SimulatedRig rig = new SimulatedRig(MemoryOptions.builder());

  @Test
  void smallTransfersThatDoNotTravelTogetherAreStopped() {
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    List<Transfer<?>> pairs = new ArrayList<>();
    for (int i = 0; i < PAIRS; i++) {
      // What is on the host needs no link, and so no company.
      buffers.add(rig.memory().allocate(ElementType.BYTE, 100, MemoryLocation.HOST));
      pairs.add(Transfer.of(new byte[100], buffers.getLast()));
    }
    CompletableFuture<CompletableFuture<TransferReport>> asked = new CompletableFuture<>();
    TransferOptions options =
        TransferOptions.builder()
            .maxConcurrency(1)
            .progress((_, _) -> asked.join().cancel(false))
            .build();
    asked.complete(rig.memory().transfers().transferAsync(pairs, options));
    TransferReport report = asked.join().join();
    assertThat(report.outcomes())
        .extracting(TransferOutcome::status)
        .startsWith(Status.DONE)
        .filteredOn(Status.CANCELLED::equals)
        .hasSize(PAIRS - 1);
    buffers.forEach(UnifiedBuffer::close);
  }
}
