package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.fault.Failure;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Many dirty ranges of one buffer travel together, in both directions, and no clean byte does. */
@ExtendWith(QuietLog.class)
@Timeout(60)
class DirtyRangesTravelTest {
  private static final int RANGES = 200;
  private static final int LENGTH = 256;
  private static final int STEP = 1024;

  @RegisterExtension
  private final SimulatedRig rig =
      new SimulatedRig(MemoryOptions.builder().transferRetryTime(Duration.ofMinutes(5)));

  private final UnifiedMemoryManager memory = rig.memory();
  private final int[] expected = Patterns.array(ElementType.INT, RANGES * STEP, 1);

  private UnifiedBuffer<int[]> onBothSides() {
    UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, RANGES * STEP);
    buffer.copyFrom(expected);
    buffer.synchronize();
    assertThat(buffer.state()).isEqualTo(BufferState.SYNCHRONIZED);
    return buffer;
  }

  /** Writes every range, on the host where it is as new as the device. */
  private void writeRanges(UnifiedBuffer<int[]> buffer, long seed) {
    int[] written = Patterns.array(ElementType.INT, LENGTH, seed);
    for (int i = 0; i < RANGES; i++) {
      buffer.copyFrom(written, 0, (long) i * STEP, LENGTH);
      System.arraycopy(written, 0, expected, i * STEP, LENGTH);
    }
  }

  private long writes() {
    return rig.calls(SpiCall.WRITE) + rig.calls(SpiCall.SCATTER);
  }

  private long reads() {
    return rig.calls(SpiCall.READ) + rig.calls(SpiCall.GATHER);
  }

  private void assertOnDevice(UnifiedBuffer<int[]> buffer) {
    // A copy of what the device has; the host's bytes could be right while the device's are not.
    try (UnifiedBuffer<int[]> copy =
        memory.allocate(ElementType.INT, RANGES * STEP, MemoryLocation.DEVICE)) {
      copy.copyFrom(buffer);
      assertHolds(copy);
    }
  }

  private void assertHolds(UnifiedBuffer<int[]> buffer) {
    int[] read = new int[RANGES * STEP];
    buffer.copyTo(read);
    Patterns.assertEqual(read, expected, "the buffer");
  }

  @Test
  void rangesThatTheHostWroteGoUpInFewCommands() {
    try (UnifiedBuffer<int[]> buffer = onBothSides()) {
      writeRanges(buffer, 2);
      assertThat(buffer.state()).isEqualTo(BufferState.HOST_DIRTY);
      long bytesBefore = buffer.metrics().hostToDeviceBytes();
      long before = writes();
      buffer.synchronize();
      assertThat(writes() - before).isLessThan(RANGES / 10);
      assertThat(buffer.metrics().hostToDeviceBytes() - bytesBefore)
          .isEqualTo((long) RANGES * LENGTH * Integer.BYTES);
      assertThat(buffer.state()).isEqualTo(BufferState.SYNCHRONIZED);
      assertOnDevice(buffer);
    }
  }

  @Test
  void rangesThatTheDeviceWroteComeBackInFewCommands() {
    Kernel sevens = memory.compile(KernelSource.elementwise("y = 7"));
    try (UnifiedBuffer<int[]> buffer = onBothSides()) {
      for (int i = 0; i < RANGES; i++) {
        sevens.execute(Arguments.of("y", buffer.slice((long) i * STEP, LENGTH)));
        Arrays.fill(expected, i * STEP, i * STEP + LENGTH, 7);
      }
      assertThat(buffer.state()).isEqualTo(BufferState.DEVICE_DIRTY);
      long bytesBefore = buffer.metrics().deviceToHostBytes();
      long before = reads();
      buffer.synchronize();
      assertThat(reads() - before).isLessThan(RANGES / 10);
      assertThat(buffer.metrics().deviceToHostBytes() - bytesBefore)
          .isEqualTo((long) RANGES * LENGTH * Integer.BYTES);
      assertThat(buffer.state()).isEqualTo(BufferState.SYNCHRONIZED);
      assertHolds(buffer);
    }
  }

  @Test
  void aFailureLosesNothingAndTheRangesTravelAgain() {
    try (UnifiedBuffer<int[]> buffer = onBothSides()) {
      writeRanges(buffer, 4);
      rig.faults().fail(SpiCall.SCATTER, 1, Failure.TRANSIENT);
      buffer.synchronize();
      assertThat(memory.transfers().statistics().retries()).isEqualTo(1);
      assertThat(buffer.state()).isEqualTo(BufferState.SYNCHRONIZED);
      assertOnDevice(buffer);
    }
  }
}
