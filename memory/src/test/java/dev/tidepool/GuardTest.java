package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.diagnostics.DiagnosticReport;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.diagnostics.GuardReport;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** At the paranoid level a write beside a buffer is reported, and closed buffers cannot be read. */
final class GuardTest {
  private final Logger logger = Logger.getLogger("dev.tidepool");
  private final Queue<DiagnosticReport> reports = new ConcurrentLinkedQueue<>();
  private final MemoryOptions options =
      MemoryOptions.builder()
          .diagnostics(DiagnosticsLevel.PARANOID)
          .reportListener(reports::add)
          .build();

  @BeforeEach
  void quiet() {
    logger.setLevel(Level.OFF);
  }

  @AfterEach
  void loud() {
    logger.setLevel(null);
  }

  /** What a kernel or native code does that was given an address. */
  private static MemorySegment beside(UnifiedBuffer<?> buffer, long offset) {
    return MemorySegment.ofAddress(buffer.asSegment().address() + offset).reinterpret(1);
  }

  private static UnifiedBuffer<byte[]> tagged(
      UnifiedMemoryManager memory, long bytes, MemoryLocation location) {
    return memory.allocate(ElementType.BYTE, bytes, Allocation.at(location).tag("victim"));
  }

  @ParameterizedTest
  @CsvSource({"1000, 1000", "1000, -1", "1000, 1255", "100000, 100000", "100000, -4096", "0, 1"})
  void aByteWrittenBesideABufferIsFoundAtOnceAndWhenItIsClosed(long bytes, long offset) {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options);
        UnifiedBuffer<byte[]> other = tagged(memory, 10, MemoryLocation.DEVICE);
        UnifiedBuffer<byte[]> buffer = tagged(memory, bytes, MemoryLocation.DEVICE)) {
      buffer.fill((byte) 1);
      assertThat(other.length()).isEqualTo(10);
      assertThat(memory.checkGuards()).isEmpty();
      beside(buffer, offset).set(ValueLayout.JAVA_BYTE, 0, (byte) 7);
      List<GuardReport> found = memory.checkGuards();
      assertThat(found).hasSize(1);
      assertThat(found.getFirst())
          .returns("cpu:0", GuardReport::accelerator)
          .returns("victim", GuardReport::tag)
          .returns("BYTE", GuardReport::elementType)
          .returns(bytes, GuardReport::bytes)
          .returns(offset, GuardReport::offset)
          .returns(1L, GuardReport::damaged);
      assertThat(found.getFirst().site()).startsWith("dev.tidepool.GuardTest.tagged(");
      assertThat(found.getFirst().toString()).contains("'victim'", "from byte " + offset);
      assertThat(reports).isEmpty();
      buffer.close();
      await().until(() -> reports.size() == 1);
      assertThat(((GuardReport) reports.element()).offset()).isEqualTo(offset);
      other.close();
    }
    assertThat(reports).hasSize(1);
  }

  @Test
  void aBufferThatWasNeverUsedIsLookedAtToo() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      UnifiedBuffer<byte[]> buffer = tagged(memory, 100, MemoryLocation.DEVICE);
      assertThat(memory.checkGuards()).isEmpty();
      buffer.close();
    }
    assertThat(reports).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(MemoryLocation.class)
  void whatIsWrittenWithinABufferDamagesNothing(MemoryLocation location) {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options);
        UnifiedBuffer<byte[]> buffer = tagged(memory, 100_000, location)) {
      MemorySegment segment = buffer.asSegment();
      segment.fill((byte) 0xAB);
      assertThat(segment.byteSize()).isEqualTo(100_000);
      byte[] seen = new byte[100_000];
      buffer.copyTo(seen);
      assertThat(seen).containsOnly(0xAB);
      assertThat(memory.checkGuards()).isEmpty();
    }
    assertThat(reports).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(longs = {64, 4096, 1 << 16, 1 << 21})
  void alignmentHoldsBetweenTheZones(long alignment) {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options);
        UnifiedBuffer<byte[]> buffer =
            memory.allocate(
                ElementType.BYTE, 1000, Allocation.at(MemoryLocation.HOST).aligned(alignment))) {
      assertThat(buffer.asSegment().address() % alignment).isZero();
      beside(buffer, -1).set(ValueLayout.JAVA_BYTE, 0, (byte) 7);
      assertThat(memory.checkGuards()).hasSize(1);
    }
  }

  @Test
  void largeBuffersKeepTheirDefaultAlignment() {
    try (UnifiedMemoryManager plain = UnifiedMemoryManager.create();
        UnifiedMemoryManager memory = UnifiedMemoryManager.create(options);
        UnifiedBuffer<byte[]> model = plain.allocate(ElementType.BYTE, 5 << 20);
        UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 5 << 20)) {
      assertThat(model.asSegment().address() % 4096).isZero();
      assertThat(buffer.asSegment().address() % 4096).isZero();
    }
  }

  @Test
  void aKernelWorksOnGuardedBuffers() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options);
        UnifiedBuffer<float[]> x = memory.copyOf(new float[] {1, 2, 3});
        UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, 3)) {
      memory.compile(KernelSource.elementwise("y = x * 2")).execute(Arguments.of("x", x, "y", y));
      float[] seen = new float[3];
      y.copyTo(seen);
      assertThat(seen).containsExactly(2, 4, 6);
      assertThat(memory.checkGuards()).isEmpty();
    }
  }

  @Test
  void everySegmentOfAClosedBufferFails() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      UnifiedBuffer<byte[]> buffer = tagged(memory, 1000, MemoryLocation.DEVICE);
      List<MemorySegment> segments =
          List.of(
              buffer.asSegment(),
              buffer.asReadOnlySegment(),
              buffer.slice(10, 10).asSegment(),
              buffer.as(ElementType.INT).asReadOnlySegment(),
              buffer.asSegment().asSlice(5, 5));
      buffer.close();
      assertThat(segments)
          .allSatisfy(
              segment ->
                  assertThatThrownBy(() -> segment.get(ValueLayout.JAVA_BYTE, 0))
                      .isInstanceOf(IllegalStateException.class));
    }
  }

  @Test
  void belowTheParanoidLevelThereIsNothingToLookAt() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      assertThatThrownBy(memory::checkGuards)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("diagnostics=paranoid");
    }
  }
}
