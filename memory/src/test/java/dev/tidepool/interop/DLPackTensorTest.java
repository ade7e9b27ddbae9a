package dev.tidepool.interop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tensors that a library in C++ made are opened, and ended by its deleter. */
class DLPackTensorTest {
  private static final DLPackType INT8 = new DLPackType(DLPackType.INT, 8, 1);
  private static final DLPackType INT16 = new DLPackType(DLPackType.INT, 16, 1);
  private static final DLPackType FLOAT32 = new DLPackType(DLPackType.FLOAT, 32, 1);

  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private int deletedBefore;

  @BeforeEach
  void open() {
    deletedBefore = Peer.get().deletions();
    tidepool = Tidepool.open();
    memory = tidepool.memory(tidepool.accelerator("cpu:0"));
  }

  @AfterEach
  void close() {
    assertThat(memory.statistics().activeBuffers()).as("buffers left").isZero();
    tidepool.close();
  }

  private int deletions() {
    return Peer.get().deletions() - deletedBefore;
  }

  private long bytes(long[] shape, long @Nullable [] strides, long offset) {
    return Peer.get().make(true, 100, INT8, shape, strides, offset);
  }

  private byte[] copied(DLPackTensor tensor, int length) {
    byte[] values = new byte[length];
    try (UnifiedBuffer<byte[]> copy = memory.allocate(ElementType.BYTE, length)) {
      tensor.copyTo(copy);
      copy.copyTo(values);
    }
    return values;
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aKernelComputesInTheTensorsMemory(boolean versioned) {
    long address =
        Peer.get().make(versioned, 400, FLOAT32, new long[] {10, 10}, new long[] {10, 1}, 0);
    try (DLPackTensor tensor =
        versioned ? DLPack.open(memory, address) : DLPack.openUnversioned(memory, address)) {
      assertThat(tensor.shape()).containsExactly(10, 10);
      assertThat(tensor.strides()).containsExactly(10, 1);
      assertThat(tensor.type()).isEqualTo(FLOAT32);
      assertThat(tensor.isRowMajor()).isTrue();
      assertThat(tensor.isReadOnly()).isFalse();
      UnifiedBuffer<float[]> buffer = tensor.buffer(ElementType.FLOAT);
      memory.compile(KernelSource.elementwise("y = 1.5")).execute(Arguments.of("y", buffer));
      Peer.get().add(address, versioned, 1);
      float[] values = new float[100];
      buffer.copyTo(values);
      assertThat(values).containsOnly(2.5f);
      assertThat(buffer.metrics().transfers()).isZero();
      assertThat(deletions()).isZero();
    }
    assertThat(deletions()).isEqualTo(1);
  }

  @Test
  void closingTwiceOrTheBufferDeletesOnce() {
    DLPackTensor tensor = DLPack.open(memory, bytes(new long[] {100}, null, 0));
    UnifiedBuffer<byte[]> buffer = tensor.buffer(ElementType.BYTE);
    buffer.close();
    assertThat(deletions()).isEqualTo(1);
    tensor.close();
    buffer.close();
    assertThat(deletions()).isEqualTo(1);
    assertThatIllegalStateException().isThrownBy(() -> copied(tensor, 100));
  }

  @Test
  void aManagerThatClosesCallsTheDeleter() {
    DLPackTensor tensor = DLPack.open(memory, bytes(new long[] {100}, null, 0));
    memory.close();
    assertThat(deletions()).isEqualTo(1);
    tensor.close();
    assertThat(deletions()).isEqualTo(1);
    long refused = bytes(new long[] {100}, null, 0);
    assertThatIllegalStateException().isThrownBy(() -> DLPack.open(memory, refused));
    assertThat(deletions()).as("with that of what was refused").isEqualTo(2);
  }

  @Test
  void offsetsAndMissingStridesAreUnderstood() {
    try (DLPackTensor tensor = DLPack.open(memory, bytes(new long[] {2, 3}, null, 5))) {
      assertThat(tensor.strides()).containsExactly(3, 1);
      byte[] values = new byte[6];
      tensor.buffer(ElementType.BYTE).copyTo(values);
      assertThat(values).containsExactly(5, 6, 7, 8, 9, 10);
    }
    try (DLPackTensor number = DLPack.open(memory, bytes(new long[0], null, 7))) {
      assertThat(number.shape()).isEmpty();
      assertThat(copied(number, 1)).containsExactly(7);
    }
  }

  @Test
  void columnMajorTensorsAreBuffersInTheOrderOfTheirMemory() {
    try (DLPackTensor tensor =
        DLPack.open(memory, bytes(new long[] {2, 3}, new long[] {1, 2}, 0))) {
      assertThat(tensor.isAdopted()).isTrue();
      assertThat(tensor.isRowMajor()).isFalse();
      byte[] values = new byte[6];
      tensor.buffer(ElementType.BYTE).copyTo(values);
      assertThat(values).containsExactly(0, 1, 2, 3, 4, 5);
      assertThat(copied(tensor, 6)).containsExactly(0, 2, 4, 1, 3, 5);
    }
  }

  private record Strided(String name, long[] shape, long[] strides, long offset, byte[] expected) {}

  @TestFactory
  Stream<DynamicTest> whatIsNotDenseIsCopied() {
    return Stream.of(
            new Strided("every third", new long[] {4}, new long[] {3}, 1, bytes(1, 4, 7, 10)),
            new Strided("backwards", new long[] {4}, new long[] {-1}, 9, bytes(9, 8, 7, 6)),
            new Strided(
                "a part of rows", new long[] {2, 2}, new long[] {10, 1}, 0, bytes(0, 1, 10, 11)),
            new Strided("one again", new long[] {3}, new long[] {0}, 4, bytes(4, 4, 4)),
            new Strided(
                "rows backwards",
                new long[] {2, 2},
                new long[] {-10, 2},
                20,
                bytes(20, 22, 10, 12)))
        .map(
            strided ->
                DynamicTest.dynamicTest(
                    strided.name(),
                    () -> {
                      int before = deletions();
                      try (DLPackTensor tensor =
                          DLPack.open(
                              memory,
                              bytes(strided.shape(), strided.strides(), strided.offset()))) {
                        assertThat(tensor.isAdopted()).isFalse();
                        assertThatThrownBy(tensor::buffer)
                            .isInstanceOf(UnsupportedOperationException.class)
                            .hasMessageContaining("copyTo");
                        assertThat(copied(tensor, strided.expected().length))
                            .isEqualTo(strided.expected());
                        assertThat(deletions() - before).isZero();
                      }
                      assertThat(deletions() - before).isEqualTo(1);
                    }));
  }

  private static byte[] bytes(int... values) {
    byte[] bytes = new byte[values.length];
    for (int i = 0; i < values.length; i++) {
      bytes[i] = (byte) values[i];
    }
    return bytes;
  }

  @Test
  void aLargeStridedTensorIsCopiedInBlocks() {
    int rows = 1500;
    int columns = 1100;
    long tensorAddress =
        Peer.get()
            .make(
                true,
                2L * rows * columns,
                INT16,
                new long[] {columns, rows},
                new long[] {1, columns},
                0);
    try (DLPackTensor tensor = DLPack.open(memory, tensorAddress);
        UnifiedBuffer<short[]> copy = memory.allocate(ElementType.SHORT, (long) rows * columns)) {
      tensor.copyTo(copy);
      short[] original = new short[rows * columns];
      tensor.buffer(ElementType.SHORT).copyTo(original);
      short[] turned = new short[rows * columns];
      copy.copyTo(turned);
      for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
          if (turned[j * rows + i] != original[i * columns + j]) {
            throw new AssertionError("row " + i + ", column " + j);
          }
        }
      }
    }
  }

  @Test
  void misalignedTensorsAreCopied() {
    long address = Peer.get().make(true, 100, INT16, new long[] {2}, new long[] {1}, 1);
    try (DLPackTensor tensor = DLPack.open(memory, address);
        UnifiedBuffer<short[]> copy = memory.allocate(ElementType.SHORT, 2)) {
      assertThatThrownBy(tensor::buffer)
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("not aligned");
      tensor.copyTo(copy);
      short[] values = new short[2];
      copy.copyTo(values);
      assertThat(values).containsExactly(0x0201, 0x0403);
    }
    assertThat(deletions()).isEqualTo(1);
  }

  @Test
  void aTensorTellsThatItIsACopy() {
    long address = bytes(new long[] {100}, null, 0);
    Peer.get().setFlags(address, 2);
    try (DLPackTensor tensor = DLPack.open(memory, address)) {
      assertThat(tensor.isCopied()).isTrue();
      assertThat(tensor.isReadOnly()).isFalse();
      tensor.buffer().fill((byte) 0);
    }
  }

  @Test
  void aReadOnlyTensorRefusesWrites() {
    long address = bytes(new long[] {100}, null, 0);
    Peer.get().setFlags(address, 1);
    try (DLPackTensor tensor = DLPack.open(memory, address)) {
      assertThat(tensor.isReadOnly()).isTrue();
      assertThat(tensor.isCopied()).isFalse();
      UnifiedBuffer<byte[]> buffer = tensor.buffer(ElementType.BYTE);
      assertThatThrownBy(() -> buffer.fill((byte) 0))
          .isInstanceOf(UnsupportedOperationException.class);
      assertThatThrownBy(() -> DLPack.export(buffer))
          .isInstanceOf(UnsupportedOperationException.class);
      assertThat(copied(tensor, 100)[99]).isEqualTo((byte) 99);
      DLPack.exportReadOnly(buffer).close();
    }
    assertThat(deletions()).isEqualTo(1);
  }

  @Test
  void aTensorOfNoElementsIsOpened() {
    try (DLPackTensor tensor = DLPack.open(memory, bytes(new long[] {3, 0}, null, 0))) {
      assertThat(tensor.buffer().length()).isZero();
      assertThat(copied(tensor, 0)).isEmpty();
    }
    assertThat(deletions()).isEqualTo(1);
  }

  @Test
  void aTensorWithoutADeleterIsOpened() {
    long address = bytes(new long[] {100}, null, 0);
    Peer.get().change("forget_deleter", address);
    DLPack.open(memory, address).close();
    assertThat(deletions()).isZero();
    Peer.get().change("drop_now", address);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theOtherStructureIsRefusedAndLeftAlone(boolean versioned) {
    long address = Peer.get().make(versioned, 100, INT8, new long[] {100}, null, 0);
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> {
              if (versioned) {
                DLPack.openUnversioned(memory, address);
              } else {
                DLPack.open(memory, address);
              }
            })
        .withMessageContaining(versioned ? "open it by open" : "openUnversioned");
    assertThat(deletions()).isZero();
    if (versioned) {
      DLPack.open(memory, address).close();
    } else {
      DLPack.openUnversioned(memory, address).close();
    }
    assertThat(deletions()).isEqualTo(1);
  }

  @Test
  void halfFloatsAreBitsOfTheirWidth() {
    DLPackType half = new DLPackType(DLPackType.FLOAT, 16, 1);
    long address = Peer.get().make(true, 100, half, new long[] {2}, null, 0);
    try (DLPackTensor tensor = DLPack.open(memory, address)) {
      assertThat(tensor.type()).hasToString("float16");
      assertThat(tensor.buffer(ElementType.SHORT).length()).isEqualTo(2);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> tensor.buffer(ElementType.FLOAT))
          .withMessageContaining("float16");
    }
  }

  private record Refusal(
      String name, long tensor, Class<? extends Exception> failure, String says) {}

  private long spoilt(String function, int value) {
    long address = bytes(new long[] {100}, null, 0);
    Peer.get().spoil(function, address, value);
    return address;
  }

  private long withoutShape() {
    long address = bytes(new long[] {100}, null, 0);
    Peer.get().change("forget_shape", address);
    return address;
  }

  private long ofType(int code, int bits, int lanes) {
    return Peer.get().make(true, 100, new DLPackType(code, bits, lanes), new long[] {2}, null, 0);
  }

  @TestFactory
  Stream<DynamicTest> whatCannotBeOpenedIsRefusedAndDeleted() {
    Class<? extends Exception> wrong = IllegalArgumentException.class;
    Class<? extends Exception> other = UnsupportedOperationException.class;
    return Stream.of(
            new Refusal("another version", spoilt("set_version", 2), other, "version 2.1"),
            new Refusal("a device", spoilt("set_device", 2), wrong, "CUDA_POINTER"),
            new Refusal("no device", spoilt("set_device", 9), other, "device type 9"),
            new Refusal("dimensions", spoilt("set_ndim", -1), wrong, "-1 dimensions"),
            new Refusal("no shape", withoutShape(), wrong, "no shape"),
            new Refusal("four bits", ofType(DLPackType.UINT, 4, 1), other, "uint4"),
            new Refusal("four bits twice", ofType(DLPackType.UINT, 4, 2), other, "uint4x2"),
            new Refusal("complex", ofType(DLPackType.COMPLEX, 128, 1), other, "complex128"),
            new Refusal(
                "strides too large",
                bytes(new long[] {3, 3}, new long[] {1L << 62, 1}, 0),
                wrong,
                "strides"),
            new Refusal("a negative size", bytes(new long[] {-1}, null, 0), wrong, "negative"),
            new Refusal(
                "a size too large", bytes(new long[] {1L << 62, 8}, null, 0), wrong, "64 bits"),
            new Refusal(
                "bytes too many", bytes(new long[] {Long.MAX_VALUE}, null, 0), wrong, "no memory"))
        .map(
            refusal ->
                DynamicTest.dynamicTest(
                    refusal.name(),
                    () -> {
                      int before = deletions();
                      assertThatThrownBy(() -> DLPack.open(memory, refusal.tensor()))
                          .isInstanceOf(refusal.failure())
                          .hasMessageContaining(refusal.says());
                      assertThat(deletions() - before).isEqualTo(1);
                    }));
  }

  @Test
  void whatIsNoAddressIsRefused() {
    for (long address : new long[] {0, -8, 12345}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> DLPack.open(memory, address))
          .withMessageContaining("no DLPack tensor");
    }
  }

  @Test
  void aBufferOfAnotherShapeOrSizeIsNoDestination() {
    try (DLPackTensor tensor = DLPack.open(memory, bytes(new long[] {10}, null, 0));
        UnifiedBuffer<byte[]> shorter = memory.allocate(ElementType.BYTE, 9);
        UnifiedBuffer<short[]> wider = memory.allocate(ElementType.SHORT, 10)) {
      assertThatIllegalArgumentException().isThrownBy(() -> tensor.copyTo(shorter));
      assertThatIllegalArgumentException().isThrownBy(() -> tensor.copyTo(wider));
    }
  }

  @Test
  void anExportOpensAsABufferOfTheSameMemory() {
    UnifiedBuffer<float[]> buffer = memory.copyOf(new float[] {1, 2, 3});
    DLPackExport export = DLPack.export(buffer);
    DLPackTensor tensor = DLPack.open(memory, export.handOver());
    buffer.close();
    tensor.buffer(ElementType.FLOAT).fill((byte) 0);
    assertThat(export.isReleased()).isFalse();
    tensor.close();
    assertThat(export.isReleased()).isTrue();
  }
}
