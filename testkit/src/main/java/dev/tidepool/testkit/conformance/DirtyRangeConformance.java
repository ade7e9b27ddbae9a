package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.transfer.TransferStatistics;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Only changed bytes are transferred, and slices share dirty ranges with their root. */
public abstract class DirtyRangeConformance extends Topic {
  private static final int LENGTH = 100_000;

  /** Returns a buffer whose host and device copies are equal. */
  private UnifiedBuffer<float[]> synchronizedBuffer() {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    buffer.synchronize();
    assertThat(buffer.state()).isEqualTo(BufferState.SYNCHRONIZED);
    return buffer;
  }

  private void writeOnHost(UnifiedBuffer<float[]> buffer, float[] model, int at, int count) {
    float[] fresh = pattern(count, at);
    try (UnifiedBuffer<float[]> slice = buffer.slice(at, count)) {
      ElementType.FLOAT.write(fresh, 0, slice.asSegment(), 0, count);
    }
    System.arraycopy(fresh, 0, model, at, count);
  }

  private void writeOnDevice(UnifiedBuffer<float[]> buffer, float[] model, int at, int count) {
    try (UnifiedBuffer<float[]> slice = buffer.slice(at, count)) {
      bench().kernel("y = a").execute(Arguments.of("a", at + 0.5, "y", slice));
    }
    Arrays.fill(model, at, at + count, at + 0.5f);
  }

  private void checkOnDevice(UnifiedBuffer<float[]> buffer, float[] model) {
    UnifiedBuffer<float[]> out = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    bench().kernel("y = x").execute(Arguments.of("x", buffer, "y", out));
    Patterns.assertEqual(contents(out), model, "as the device sees it");
  }

  private void assertMoved(TransferStatistics before, long pushed, long fetched) {
    TransferStatistics after = bench().moved();
    long expected = bench().sharesMemory() ? 0 : 1;
    assertThat(after.hostToDeviceBytes() - before.hostToDeviceBytes())
        .as("bytes pushed")
        .isEqualTo(expected * pushed);
    assertThat(after.deviceToHostBytes() - before.deviceToHostBytes())
        .as("bytes fetched")
        .isEqualTo(expected * fetched);
  }

  @Test
  void whatTheHostWroteInASliceIsAllThatIsPushed() {
    UnifiedBuffer<float[]> buffer = synchronizedBuffer();
    float[] model = pattern(LENGTH, 1);
    writeOnHost(buffer, model, 1001, 10);
    assertThat(buffer.state()).isEqualTo(BufferState.HOST_DIRTY);
    TransferStatistics before = bench().moved();
    buffer.prefetchToDevice();
    memory().synchronize();
    assertMoved(before, 40, 0);
    checkOnDevice(buffer, model);
  }

  @Test
  void severalRangesTravelWithoutWhatIsBetweenThem() {
    UnifiedBuffer<float[]> buffer = synchronizedBuffer();
    float[] model = pattern(LENGTH, 1);
    writeOnHost(buffer, model, 7, 100);
    writeOnHost(buffer, model, 50_001, 33);
    writeOnHost(buffer, model, LENGTH - 5, 5);
    TransferStatistics before = bench().moved();
    buffer.synchronize();
    assertMoved(before, 4 * (100 + 33 + 5), 0);
    checkOnDevice(buffer, model);
  }

  @Test
  void overlappingWritesTravelOnce() {
    UnifiedBuffer<float[]> buffer = synchronizedBuffer();
    float[] model = pattern(LENGTH, 1);
    writeOnHost(buffer, model, 1000, 100);
    writeOnHost(buffer, model, 1050, 100);
    writeOnHost(buffer, model, 1150, 10);
    TransferStatistics before = bench().moved();
    buffer.synchronize();
    assertMoved(before, 4 * 160, 0);
    checkOnDevice(buffer, model);
  }

  @Test
  void whatTheDeviceWroteInASliceIsAllThatIsFetched() {
    UnifiedBuffer<float[]> buffer = synchronizedBuffer();
    float[] model = pattern(LENGTH, 1);
    writeOnDevice(buffer, model, 3, 77);
    writeOnDevice(buffer, model, 90_000, 1000);
    assertThat(buffer.state()).isEqualTo(BufferState.DEVICE_DIRTY);
    TransferStatistics before = bench().moved();
    Patterns.assertEqual(
        contents(ElementType.FLOAT, buffer.asReadOnlySegment()), model, "as the host sees it");
    assertMoved(before, 0, 4 * 1077);
    assertThat(buffer.state()).isEqualTo(BufferState.SYNCHRONIZED);
  }

  @Test
  void aMappingOfASliceDirtiesTheSliceOnly() {
    UnifiedBuffer<float[]> buffer = synchronizedBuffer();
    float[] model = pattern(LENGTH, 1);
    try (UnifiedBuffer<float[]> slice = buffer.slice(500, 50);
        HostMapping mapping = slice.map(MapMode.READ_WRITE)) {
      ElementType.FLOAT.write(new float[50], 0, mapping.segment(), 0, 50);
    }
    Arrays.fill(model, 500, 550, 0);
    TransferStatistics before = bench().moved();
    checkOnDeviceAfter(buffer, model, before, 200);
  }

  private void checkOnDeviceAfter(
      UnifiedBuffer<float[]> buffer, float[] model, TransferStatistics before, long pushed) {
    buffer.prefetchToDevice();
    memory().synchronize();
    assertMoved(before, pushed, 0);
    checkOnDevice(buffer, model);
  }

  @Test
  void aWriteThroughOneSliceIsSeenThroughAnother() {
    UnifiedBuffer<float[]> buffer = synchronizedBuffer();
    float[] model = pattern(LENGTH, 1);
    UnifiedBuffer<float[]> other = bench().owned(buffer.slice(900, 300));
    writeOnHost(buffer, model, 1000, 100);
    assertThat(other.state()).isEqualTo(BufferState.HOST_DIRTY);
    Kernel increment = bench().kernel("y = y + 1");
    increment.execute(Arguments.of("y", other));
    for (int i = 900; i < 1200; i++) {
      model[i] += 1;
    }
    assertThat(buffer.state()).isEqualTo(BufferState.DEVICE_DIRTY);
    Patterns.assertEqual(contents(buffer), model, "through the root");
    Patterns.assertEqual(
        contents(ElementType.FLOAT, buffer.asReadOnlySegment()), model, "on the host");
    Patterns.assertEqual(
        contents(other), Patterns.range(ElementType.FLOAT, model, 900, 1200), "by the slice");
  }

  @Test
  void aHostWriteBesideADeviceWriteLosesNeither() {
    UnifiedBuffer<float[]> buffer = synchronizedBuffer();
    float[] model = pattern(LENGTH, 1);
    for (int round = 0; round < 5; round++) {
      writeOnDevice(buffer, model, 100 * round, 150);
      writeOnHost(buffer, model, 100 * round + 60, 30);
      writeOnDevice(buffer, model, 5000 + round, 1);
    }
    Patterns.assertEqual(contents(buffer), model, "both writes");
    checkOnDevice(buffer, model);
    Patterns.assertEqual(
        contents(ElementType.FLOAT, buffer.asReadOnlySegment()), model, "on the host");
  }

  @Test
  void aWriteOfAllForgetsTheRangesBefore() {
    UnifiedBuffer<float[]> buffer = synchronizedBuffer();
    float[] model = pattern(LENGTH, 1);
    writeOnHost(buffer, model, 10, 10);
    TransferStatistics before = bench().moved();
    bench().kernel("y = a").execute(Arguments.of("a", 3, "y", buffer));
    assertMoved(before, 0, 0);
    Arrays.fill(model, 3);
    Patterns.assertEqual(contents(buffer), model, "written by the device, all of it");
  }

  @Test
  void aSliceThatWasNeverDirtyMovesNothing() {
    UnifiedBuffer<float[]> buffer = synchronizedBuffer();
    float[] model = pattern(LENGTH, 1);
    TransferStatistics before = bench().moved();
    for (int i = 0; i < 10; i++) {
      Patterns.assertEqual(
          contents(ElementType.FLOAT, buffer.asReadOnlySegment()), model, "as the host sees it");
      buffer.prefetchToDevice();
      buffer.synchronize();
    }
    memory().synchronize();
    assertMoved(before, 0, 0);
  }
}
