package dev.tidepool.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackExport;
import dev.tidepool.interop.DLPackTensor;
import dev.tidepool.interop.DLPackType;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** NumPy as the far side of DLPack, in this process. */
class NumPyExchangeTest {
  private Python python;
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;

  @BeforeEach
  void open() {
    Optional<Python> found = Python.get();
    Assumptions.assumeTrue(found.isPresent(), "needs libpython3.11 and python3-numpy");
    python = found.orElseThrow();
    tidepool = Tidepool.open();
    memory = tidepool.memory(tidepool.accelerator("cpu:0"));
  }

  @AfterEach
  void close() {
    if (tidepool != null) {
      assertThat(memory.statistics().activeBuffers()).as("buffers left").isZero();
      tidepool.close();
    }
  }

  @Test
  void numPyReadsTheMemoryOfABuffer() {
    UnifiedBuffer<float[]> buffer = memory.copyOf(new float[] {1, 2, 3, 4, 5, 6});
    DLPackExport export = DLPack.exportUnversioned(buffer, 2, 3);
    python.run("a = np.from_dlpack(Tensor(" + export.handOver() + "))");
    python.run("assert a.shape == (2, 3) and a.dtype == np.float32, a");
    python.run("assert a.tolist() == [[1, 2, 3], [4, 5, 6]], a");
    assertThat((long) python.number("a.ctypes.data")).isEqualTo(buffer.asSegment().address());
    memory.compile(KernelSource.elementwise("y = y * 2")).execute(Arguments.of("y", buffer));
    python.run("assert a.tolist() == [[2, 4, 6], [8, 10, 12]], a");
    // The array outlives the buffer.
    buffer.close();
    python.run("assert a.sum() == 42, a");
    python.run("b = a[1]\ndel a");
    assertThat(export.isReleased()).as("while a part of the array is there").isFalse();
    python.run("del b");
    assertThat(export.isReleased()).isTrue();
  }

  @Test
  void numPyAndKernelsOfADeviceShareVirtualMemory() {
    Assumptions.assumeTrue(
        tidepool.accelerators().stream().anyMatch(one -> one.id().equals("opencl:0")),
        "needs pocl-opencl-icd");
    UnifiedMemoryManager device = tidepool.memory(tidepool.accelerator("opencl:0"));
    Assumptions.assumeTrue(
        device.accelerator().capabilities().contains(Capability.SHARED_MEMORY),
        "the device has memory of its own");
    try (UnifiedBuffer<float[]> buffer =
        device.allocate(ElementType.FLOAT, 6, MemoryLocation.DEVICE)) {
      Kernel next = device.compile(KernelSource.elementwise("y = y + 1"));
      buffer.fill((byte) 0);
      next.execute(Arguments.of("y", buffer));
      DLPackExport export = DLPack.exportUnversioned(buffer, 2, 3);
      python.run("a = np.from_dlpack(Tensor(" + export.handOver() + "))");
      python.run("assert a.tolist() == [[1, 1, 1], [1, 1, 1]], a");
      python.run(
          "np.frombuffer((ctypes.c_float * 6).from_address(a.ctypes.data), np.float32)[:] = 5");
      next.execute(Arguments.of("y", buffer));
      buffer.synchronize();
      python.run("assert a.sum() == 36, a");
      python.run("del a");
      assertThat(export.isReleased()).isTrue();
    }
  }

  @Test
  void whatPythonWritesToTheMemoryIsInTheBuffer() {
    try (UnifiedBuffer<float[]> buffer = memory.copyOf(new float[] {1, 2, 3})) {
      DLPackExport export = DLPack.exportUnversioned(buffer);
      python.run("a = np.from_dlpack(Tensor(" + export.handOver() + "))");
      // NumPy before 2.1 makes such arrays read-only; another array over the address is not.
      python.run(
          """
          w = np.frombuffer((ctypes.c_float * 3).from_address(a.ctypes.data), np.float32)
          w += 10
          """);
      float[] values = new float[3];
      buffer.copyTo(values);
      assertThat(values).containsExactly(11, 12, 13);
      python.run("del w, a");
      assertThat(export.isReleased()).isTrue();
    }
  }

  @Test
  void aSliceIsAnArray() {
    try (UnifiedBuffer<int[]> buffer = memory.copyOf(new int[] {0, 1, 2, 3, 4, 5, 6, 7})) {
      DLPackExport export = DLPack.exportUnversioned(buffer.slice(3, 4), 2, 2);
      python.run("a = np.from_dlpack(Tensor(" + export.handOver() + "))");
      python.run("assert a.tolist() == [[3, 4], [5, 6]], a");
      python.run("del a");
      assertThat(export.isReleased()).isTrue();
    }
  }

  static Stream<ElementType<?>> types() {
    // NumPy 1.24 does not take truth values by DLPack.
    return Stream.of(
        ElementType.BYTE,
        ElementType.SHORT,
        ElementType.INT,
        ElementType.LONG,
        ElementType.UNSIGNED_BYTE,
        ElementType.UNSIGNED_SHORT,
        ElementType.UNSIGNED_INT,
        ElementType.UNSIGNED_LONG,
        ElementType.FLOAT,
        ElementType.DOUBLE);
  }

  @ParameterizedTest
  @MethodSource("types")
  void everyTypeOfElementsTravelsBothWays(ElementType<?> type) {
    try (UnifiedBuffer<?> buffer = memory.allocate(type, 5)) {
      buffer.fill((byte) 0);
      DLPackExport export = DLPack.exportUnversioned(buffer);
      python.run("a = np.from_dlpack(Tensor(" + export.handOver() + "))");
      String name = DLPackType.of(type).toString();
      python.run("assert a.dtype == np." + name + " and a.tolist() == [0] * 5, a");
      python.run("del a");
      assertThat(export.isReleased()).isTrue();
    }
    String name = DLPackType.of(type).toString();
    python.run("b = np.arange(4).astype(np." + name + ")");
    try (DLPackTensor tensor = DLPack.openUnversioned(memory, python.tensor("b"))) {
      assertThat(tensor.type()).isEqualTo(DLPackType.of(type));
      assertThat(tensor.buffer(type).length()).isEqualTo(4);
    }
  }

  @Test
  void aKernelComputesInTheMemoryOfAnArray() {
    python.run("b = np.arange(1000, dtype=np.float32)\nreferences = sys_count(b)");
    try (DLPackTensor tensor = DLPack.openUnversioned(memory, python.tensor("b"))) {
      UnifiedBuffer<float[]> buffer = tensor.buffer(ElementType.FLOAT);
      assertThat((long) python.number("b.ctypes.data")).isEqualTo(buffer.asSegment().address());
      memory.compile(KernelSource.elementwise("y = y + 1")).execute(Arguments.of("y", buffer));
      python.run("assert (b == np.arange(1, 1001, dtype=np.float32)).all(), b");
      python.run("assert sys_count(b) == references + 1");
    }
    python.run("assert sys_count(b) == references, 'the deleter was not called once'");
  }

  @Test
  void turnedAndStridedArraysKeepTheirOrder() {
    python.run("c = np.arange(6, dtype=np.int32).reshape(2, 3)");
    try (DLPackTensor turned = DLPack.openUnversioned(memory, python.tensor("c.T"));
        DLPackTensor strided = DLPack.openUnversioned(memory, python.tensor("c[:, ::2]"));
        UnifiedBuffer<int[]> copy = memory.allocate(ElementType.INT, 6);
        UnifiedBuffer<int[]> part = memory.allocate(ElementType.INT, 4)) {
      assertThat(turned.shape()).containsExactly(3, 2);
      assertThat(turned.isAdopted()).isTrue();
      turned.copyTo(copy);
      int[] values = new int[6];
      copy.copyTo(values);
      assertThat(values).containsExactly(0, 3, 1, 4, 2, 5);
      assertThatThrownBy(strided::buffer).isInstanceOf(UnsupportedOperationException.class);
      strided.copyTo(part);
      int[] some = new int[4];
      part.copyTo(some);
      assertThat(some).containsExactly(0, 2, 3, 5);
    }
  }

  @Test
  void anArrayThatOnlyATensorHasIsFreedWithIt() {
    python.run(
        """
        import weakref
        d = np.ones(10, np.float64)
        gone = []
        weakref.finalize(d, gone.append, 1)
        """);
    long address = python.tensor("d");
    python.run("del d\nassert gone == []");
    DLPackTensor tensor = DLPack.openUnversioned(memory, address);
    double[] values = new double[10];
    tensor.buffer(ElementType.DOUBLE).copyTo(values);
    assertThat(values).containsOnly(1.0);
    tensor.close();
    tensor.close();
    python.run("assert gone == [1], gone");
  }
}
