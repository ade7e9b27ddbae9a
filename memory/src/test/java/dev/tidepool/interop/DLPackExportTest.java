package dev.tidepool.interop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.LogLines;
import dev.tidepool.MapMode;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A library in C++ takes tensors, uses their memory, and calls their deleter. */
class DLPackExportTest {
  @RegisterExtension private final LogLines log = new LogLines();

  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private int openBefore;

  @BeforeEach
  void open() {
    tidepool = Tidepool.open();
    memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    openBefore = DLPackExport.open();
  }

  @AfterEach
  void close() {
    tidepool.close();
    assertThat(DLPackExport.open()).as("exports left").isEqualTo(openBefore);
  }

  private UnifiedBuffer<float[]> floats(int length) {
    float[] values = new float[length];
    for (int i = 0; i < length; i++) {
      values[i] = i;
    }
    return memory.copyOf(values);
  }

  @Test
  void aLateCloseEndsNoOtherTensor() {
    try (UnifiedBuffer<float[]> buffer = floats(10)) {
      for (int i = 0; i < 50; i++) {
        DLPackExport first = DLPack.export(buffer);
        // The consumer takes the address, though it was not handed over, and is done with it.
        DLPack.open(memory, first.address()).close();
        DLPackExport second = DLPack.export(buffer);
        long address = second.handOver();
        first.close();
        assertThat(second.isReleased()).isFalse();
        DLPack.open(memory, address).close();
        assertThat(second.isReleased()).isTrue();
      }
    }
  }

  private static void forget(UnifiedBuffer<float[]> buffer) {
    assertThat(DLPack.export(buffer).isReleased()).isFalse();
  }

  @Test
  void aForgottenExportIsReportedAndItsMemoryStays() throws InterruptedException {
    UnifiedBuffer<float[]> buffer = floats(10);
    // These have a consumer that is not done with them.
    long[] handedOver = new long[20];
    Arrays.setAll(handedOver, i -> DLPack.export(buffer).handOver());
    forget(buffer);
    for (int i = 0; i < 500 && reports() == 0; i++) {
      System.gc();
      Thread.sleep(10);
    }
    assertThat(reports()).isEqualTo(1);
    for (long address : handedOver) {
      DLPack.open(memory, address).close();
    }
    assertThat(DLPackExport.open()).isEqualTo(openBefore + 1);
    openBefore++;
  }

  private long reports() {
    return log.all().stream()
        .filter(line -> line.contains("neither handed over nor closed"))
        .count();
  }

  private static float[] contents(UnifiedBuffer<float[]> buffer) {
    float[] values = new float[(int) buffer.length()];
    buffer.copyTo(values);
    return values;
  }

  @Test
  void theStructuresLieAsACompilerLaysThem() {
    assertThat(Peer.get().layout("layout"))
        .containsExactly(
            TensorStruct.VERSIONED_BYTES,
            0,
            8,
            16,
            24,
            32, // versioned
            TensorStruct.UNVERSIONED_BYTES,
            0,
            48,
            56, // unversioned
            48);
  }

  @Test
  void theConsumerReadsEveryField() {
    UnifiedBuffer<float[]> buffer = floats(24);
    try (DLPackExport export = DLPack.export(buffer, 2, 3, 4)) {
      assertThat(Peer.get().describe(export.address(), true))
          .containsExactly(1, 0, 3, 2, 32, 1, 0, 0, 1, 0, 2, 3, 4, 12, 4, 1);
    }
    try (DLPackExport export = DLPack.exportUnversioned(buffer)) {
      assertThat(Peer.get().describe(export.address(), false))
          .containsExactly(1, 0, 1, 2, 32, 1, 0, 0, 0, 0, 24, 1);
    }
    try (DLPackExport export = DLPack.exportReadOnly(buffer, 24)) {
      assertThat(Peer.get().describe(export.address(), true)[7]).isEqualTo(1);
    }
  }

  @Test
  void everyPrimitiveTypeHasItsCode() {
    record Code(ElementType<?> type, int code, int bits) {}
    List<Code> codes =
        List.of(
            new Code(ElementType.BYTE, 0, 8),
            new Code(ElementType.SHORT, 0, 16),
            new Code(ElementType.INT, 0, 32),
            new Code(ElementType.LONG, 0, 64),
            new Code(ElementType.UNSIGNED_BYTE, 1, 8),
            new Code(ElementType.UNSIGNED_SHORT, 1, 16),
            new Code(ElementType.UNSIGNED_INT, 1, 32),
            new Code(ElementType.UNSIGNED_LONG, 1, 64),
            new Code(ElementType.FLOAT, 2, 32),
            new Code(ElementType.DOUBLE, 2, 64),
            new Code(ElementType.BOOLEAN, 6, 8));
    for (Code code : codes) {
      DLPackType type = DLPackType.of(code.type());
      assertThat(type).isEqualTo(new DLPackType(code.code(), code.bits(), 1));
      assertThat(type.elementType()).isEqualTo(code.type());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void consumerAndKernelsWorkInOneMemory(boolean versioned) {
    UnifiedBuffer<float[]> buffer = floats(1000);
    Kernel twice = memory.compile(KernelSource.elementwise("y = y + y"));
    twice.executeAsync(Arguments.of("y", buffer));
    DLPackExport export = versioned ? DLPack.export(buffer) : DLPack.exportUnversioned(buffer);
    long tensor = export.handOver();
    Peer.get().add(tensor, versioned, 1);
    twice.execute(Arguments.of("y", buffer));
    Peer.get().add(tensor, versioned, 1);
    float[] expected = new float[1000];
    for (int i = 0; i < expected.length; i++) {
      expected[i] = 2 * (2 * i + 1) + 1;
    }
    assertThat(contents(buffer)).isEqualTo(expected);
    assertThat(export.isReleased()).isFalse();
    Peer.get().end(tensor, versioned);
    assertThat(export.isReleased()).isTrue();
    buffer.close();
  }

  @Test
  void aSliceIsExportedAsItsPart() {
    UnifiedBuffer<float[]> buffer = floats(100);
    long tensor = DLPack.export(buffer.slice(10, 6), 2, 3).handOver();
    Peer.get().add(tensor, true, 1000);
    Peer.get().end(tensor, true);
    float[] expected = contents(floats(100));
    for (int i = 10; i < 16; i++) {
      expected[i] += 1000;
    }
    assertThat(contents(buffer)).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theMemoryStaysUntilTheDeleterRunsOnANativeThread(boolean versioned) {
    UnifiedBuffer<float[]> buffer = floats(1 << 18);
    DLPackExport export = versioned ? DLPack.export(buffer) : DLPack.exportUnversioned(buffer);
    MemorySegment bytes = buffer.asSegment();
    buffer.close();
    assertThatIllegalStateException().isThrownBy(buffer::asSegment);
    // Others that are allocated must not get the memory.
    for (int i = 0; i < 10; i++) {
      UnifiedBuffer<float[]> other = floats(1 << 18);
      assertThat(other.asSegment().address()).isNotEqualTo(bytes.address());
    }
    Peer.get().add(export.address(), versioned, 1);
    assertThat(bytes.getAtIndex(ValueLayout.JAVA_FLOAT, 7)).isEqualTo(8f);
    long live = memory.statistics().activeBuffers();
    Peer.get().endOnAThread(export.handOver(), versioned);
    assertThat(export.isReleased()).isTrue();
    assertThat(memory.statistics().activeBuffers()).isEqualTo(live - 1);
  }

  @Test
  void theMemoryStaysWhenTheManagerCloses() {
    UnifiedBuffer<float[]> buffer = floats(1000);
    long tensor = DLPack.export(buffer).handOver();
    memory.close();
    Peer.get().add(tensor, true, 1);
    Peer.get().endOnAThread(tensor, true);
    assertThat(memory.statistics().activeBuffers()).isZero();
    assertThat(memory.statistics().totalPooled()).as("idle bytes of the manager").isZero();
  }

  @Test
  void aBufferWithoutHandlesStaysWhileItIsExported() {
    long tensor = DLPack.export(floats(1000)).handOver();
    for (int i = 0; i < 5; i++) {
      System.gc();
      memory.allocate(ElementType.BYTE, 1).close();
    }
    assertThat(memory.statistics().leaks()).isZero();
    Peer.get().add(tensor, true, 1);
    Peer.get().end(tensor, true);
  }

  @Test
  void anExportThatNobodyTookIsClosed() {
    UnifiedBuffer<float[]> buffer = floats(10);
    DLPackExport export = DLPack.export(buffer);
    export.close();
    export.close();
    assertThat(export.isReleased()).isTrue();
    assertThatIllegalStateException().isThrownBy(export::handOver);
    buffer.close();
    assertThat(memory.statistics().activeBuffers()).isZero();
  }

  @Test
  void closingAnExportThatWasTakenDoesNothing() {
    UnifiedBuffer<float[]> buffer = floats(10);
    DLPackExport export = DLPack.export(buffer);
    long tensor = export.handOver();
    export.close();
    assertThat(export.isReleased()).isFalse();
    assertThatIllegalStateException().isThrownBy(export::handOver);
    Peer.get().end(tensor, true);
    assertThat(export.isReleased()).isTrue();
  }

  @Test
  void aSecondCallOfTheDeleterDoesNothing() {
    UnifiedBuffer<float[]> buffer = floats(10);
    DLPackExport export = DLPack.export(buffer);
    long tensor = export.handOver();
    MemorySegment deleter = Peer.get().deleterOf(tensor);
    Peer.get().call(deleter, tensor);
    Peer.get().call(deleter, tensor);
    Peer.get().call(deleter, 0);
    Peer.get().call(deleter, 4096);
    assertThat(contents(buffer)).hasSize(10);
    buffer.close();
    assertThat(memory.statistics().activeBuffers()).isZero();
  }

  @Test
  void severalExportsEndOneByOne() {
    UnifiedBuffer<float[]> buffer = floats(10);
    List<DLPackExport> exports = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      exports.add(DLPack.export(buffer));
    }
    buffer.close();
    for (DLPackExport export : exports) {
      assertThat(memory.statistics().activeBuffers()).isEqualTo(1);
      Peer.get().end(export.handOver(), true);
    }
    assertThat(memory.statistics().activeBuffers()).isZero();
  }

  @Test
  void threadsThatExportAndEndLeaveNothing() throws InterruptedException {
    UnifiedBuffer<float[]> buffer = floats(100);
    AtomicInteger ended = new AtomicInteger();
    Thread[] threads = new Thread[4];
    for (int t = 0; t < threads.length; t++) {
      boolean own = t % 2 == 0;
      threads[t] =
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int i = 0; i < 500; i++) {
                      UnifiedBuffer<float[]> used = own ? floats(100) : buffer;
                      long tensor = DLPack.export(used, 10, 10).handOver();
                      if (own) {
                        used.close();
                      }
                      Peer.get().end(tensor, true);
                      ended.incrementAndGet();
                    }
                  });
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(ended).hasValue(2000);
    assertThat(memory.statistics().activeBuffers()).isEqualTo(1);
  }

  @Test
  void memoryForReadingIsExportedReadOnlyAlone(@TempDir Path folder) throws IOException {
    Path file = Files.write(folder.resolve("bytes"), new byte[] {1, 2, 3});
    UnifiedBuffer<byte[]> buffer = memory.map(file, ElementType.BYTE, MapMode.READ);
    assertThatThrownBy(() -> DLPack.export(buffer))
        .isInstanceOf(UnsupportedOperationException.class);
    try (DLPackExport export = DLPack.exportReadOnly(buffer)) {
      assertThat(Peer.get().describe(export.address(), true)[7]).isEqualTo(1);
    }
    buffer.close();
  }

  @Test
  void whatCannotBeATensorIsRefused() {
    record Point(float x, float y) {}
    UnifiedBuffer<Point[]> points = memory.allocate(ElementType.struct(Point.class), 3);
    UnifiedBuffer<float[]> buffer = floats(12);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DLPack.export(points))
        .withMessageContaining("BYTE");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DLPack.export(buffer, 3, 5))
        .withMessageContaining("[3, 5] has 15 elements, and the buffer has 12");
    assertThatIllegalArgumentException().isThrownBy(() -> DLPack.export(buffer, -3, -4));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DLPack.export(buffer, 1L << 40, 1L << 40))
        .withMessageContaining("64 bits");
    buffer.close();
    assertThatIllegalStateException().isThrownBy(() -> DLPack.export(buffer));
  }

  @Test
  void aTensorOfNoElementsIsExported() {
    UnifiedBuffer<float[]> none = memory.allocate(ElementType.FLOAT, 0);
    try (DLPackExport export = DLPack.export(none, 3, 0, 2)) {
      long[] fields = Peer.get().describe(export.address(), true);
      assertThat(Arrays.copyOfRange(fields, 10, 13)).containsExactly(3, 0, 2);
    }
  }

  @Test
  void aTensorOfNoElementsMayHaveLargeDimensions() {
    long large = 1L << 40;
    UnifiedBuffer<float[]> none = memory.allocate(ElementType.FLOAT, 0);
    DLPackExport export = DLPack.export(none, 0, large, large);
    try (DLPackTensor tensor = DLPack.open(memory, export.handOver())) {
      assertThat(tensor.shape()).containsExactly(0, large, large);
      assertThat(tensor.strides()).containsExactly(large, large, 1);
      assertThat(tensor.buffer(ElementType.FLOAT).length()).isZero();
    }
    assertThat(export.isReleased()).isTrue();
  }
}
