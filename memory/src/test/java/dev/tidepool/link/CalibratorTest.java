package dev.tidepool.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.transfer.TransferCalibration.Cost;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

class CalibratorTest {
  private static final long NANOS_PER_BYTE = 10;

  private int moves;

  @Test
  void aLinkThatIsSlowWhileItIsColdIsNotTakenForOneThatMovesBytesInNoTime() {
    Cost cost =
        Calibrator.cost(
            bytes -> {
              boolean cold = ++moves <= 12;
              sleep(cold ? 2_000_000 : bytes * NANOS_PER_BYTE);
            });

    assertThat(cost.nanosPerByte()).isGreaterThanOrEqualTo(NANOS_PER_BYTE / 2.0);
  }

  private static void sleep(long nanos) {
    long end = System.nanoTime() + nanos;
    for (long left = nanos; left > 0; left = end - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }
}
