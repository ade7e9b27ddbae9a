package dev.tidepool.runtime.transfers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferOutcome;
import dev.tidepool.transfer.TransferOutcome.Status;
import dev.tidepool.transfer.TransferReport;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An error of one buffer, such as a prefetch leaves, does not hold up the rest of a list. */
@Timeout(60)
class TransferListTest {
  private final UnifiedMemoryManager memory = UnifiedMemoryManager.create();
  private final UnifiedBuffer<int[]> sound = memory.allocate(ElementType.INT, 3);
  private final UnifiedBuffer<int[]> spoilt = memory.allocate(ElementType.INT, 3);

  @AfterEach
  @Timeout(60)
  void close() {
    sound.close();
    spoilt.close();
    memory.close();
  }

  private TransferReport transfer() {
    return memory
        .transfers()
        .transfer(
            List.of(
                Transfer.of(new int[] {1, 2, 3}, sound),
                Transfer.of(new int[] {4, 5, 6}, spoilt),
                Transfer.of(new int[] {7}, sound.slice(1, 1))),
            TransferOptions.defaults());
  }

  private int[] arrived() {
    int[] found = new int[3];
    sound.copyTo(found);
    return found;
  }

  @Test
  void itIsTheOutcomeOfItsPair() {
    StackOverflowError failure = new StackOverflowError("the stack was full");
    ((BufferHandle<?>) spoilt).storage().prefetchFailed(failure);
    TransferReport report = transfer();
    assertThat(report.outcomes())
        .extracting(TransferOutcome::status)
        .containsExactly(Status.DONE, Status.FAILED, Status.DONE);
    assertThat(report.outcomes().get(1).cause().orElseThrow())
        .hasMessageContaining("transfer 2 of 3: the stack was full")
        .hasCause(failure);
    assertThat(arrived()).containsExactly(1, 7, 3);
  }

  @Test
  void whatWasAskedForBeforeOneThatCannotEvenBeReportedGoesOn() {
    Error unspeakable =
        new Error() {
          private static final long serialVersionUID = 1L;

          @Override
          public String getMessage() {
            throw this;
          }
        };
    ((BufferHandle<?>) spoilt).storage().prefetchFailed(unspeakable);
    assertThatThrownBy(this::transfer).isSameAs(unspeakable);
    assertThat(arrived()).containsExactly(1, 2, 3);
  }
}
