package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.interop.ArrowC;
import dev.tidepool.interop.ArrowColumn;
import dev.tidepool.interop.ArrowExport;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackExport;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Memory that other code allocated from CUDA. */
@ExtendWith(NothingLeaks.class)
class ForeignMemoryTest {
  private static final int LENGTH = 5_000;
  private static final long BYTES = 4L * LENGTH;
  private static final String PLACE =
      """
      extern "C" __global__ void place(float *x, long long *at) {
        at[0] = (long long)((unsigned long long)x % 4);
        x[0] = 2.0f;
      }
      """;

  private static NativeHandle at(long address, long bytes) {
    return new NativeHandle(NativeKind.CUDA_POINTER, address, 0, bytes);
  }

  private static UnifiedMemoryManager memory(Tidepool tidepool) {
    return tidepool.memory(tidepool.accelerator("cuda:0"));
  }

  /** Adopts memory that the library has allocated and set, and has a kernel compute in it. */
  private static void computeIn(Library library, LongSupplier allocation) {
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = memory(tidepool);
      long address = library.context().call(() -> set(library, allocation.getAsLong()));
      AtomicInteger releases = new AtomicInteger();
      try (UnifiedBuffer<int[]> buffer =
              memory.adopt(ElementType.INT, at(address, BYTES), releases::incrementAndGet);
          UnifiedBuffer<int[]> result =
              memory.allocate(ElementType.INT, LENGTH, MemoryLocation.DEVICE)) {
        memory
            .compile(KernelSource.elementwise("y = x * 2"))
            .execute(Arguments.of("x", buffer, "y", result));
        memory.compile(KernelSource.elementwise("x = x + 1")).execute(Arguments.of("x", buffer));
        int[] values = new int[LENGTH];
        result.copyTo(values);
        assertThat(values).containsOnly(14);
        buffer.copyTo(values);
        assertThat(values).containsOnly(8);
        assertThat(releases).hasValue(0);
      }
      assertThat(releases).hasValue(1);
    }
  }

  private static long set(Library library, long address) {
    Cuda.cuMemsetD32Async(address, 7, LENGTH, library.stream());
    Cuda.cuStreamSynchronize(library.stream());
    return address;
  }

  @Test
  void memoryOfTheDeviceIsAdopted() {
    Simulation.with(1);
    try (Library library = Library.on(0)) {
      long address = library.context().call(() -> Cuda.cuMemAlloc(BYTES));
      computeIn(library, () -> address);
      // It is the library's still.
      library.context().run(() -> Cuda.cuMemFree(address, ObjectKind.DEVICE_MEMORY));
    }
  }

  /** The mapping writes and ends while the manager copies what was written before. */
  @Test
  void whatAMappingWritesBesideASynchronizationIsKept() throws Exception {
    SimulatedCuda simulated = Simulation.with(1);
    try (Library library = Library.on(0);
        Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = memory(tidepool);
      long address = library.context().call(() -> Cuda.cuMemAlloc(BYTES));
      try (UnifiedBuffer<int[]> buffer =
          memory.adopt(ElementType.INT, at(address, BYTES), () -> {})) {
        HostMapping mapping = buffer.map(MapMode.READ_WRITE, true);
        mapping.segment().setAtIndex(JAVA_INT, 0, 1);
        simulated.setAll("latency_ns", 300_000_000L);
        CompletableFuture<Void> synchronizing = CompletableFuture.runAsync(memory::synchronize);
        TimeUnit.MILLISECONDS.sleep(150);
        mapping.segment().setAtIndex(JAVA_INT, 0, 2);
        mapping.close();
        synchronizing.join();
        simulated.setAll("latency_ns", 0L);
        int[] result = new int[LENGTH];
        memory
            .compile(KernelSource.elementwise("y = x"))
            .execute(Arguments.of("x", buffer, "y", result));
        assertThat(result[0]).isEqualTo(2);
      }
      library.context().run(() -> Cuda.cuMemFree(address, ObjectKind.DEVICE_MEMORY));
    }
  }

  @Test
  void memoryOfAPoolIsAdopted() {
    Simulation.with(1);
    try (Library library = Library.on(0)) {
      long pool = library.context().call(() -> Cuda.cuDeviceGetMemPool(0));
      long address =
          library.context().call(() -> Cuda.cuMemAllocFromPoolAsync(BYTES, pool, library.stream()));
      computeIn(library, () -> address);
      library
          .context()
          .run(
              () -> {
                Cuda.cuMemFreeAsync(address, library.stream());
                Cuda.cuStreamSynchronize(library.stream());
              });
    }
  }

  @Test
  void managedMemoryIsAdopted() {
    Simulation.with(1);
    try (Library library = Library.on(0)) {
      long address = library.context().call(() -> Cuda.cuMemAllocManaged(BYTES));
      computeIn(library, () -> address);
      library.context().run(() -> Cuda.cuMemFree(address, ObjectKind.MANAGED_MEMORY));
    }
  }

  /** A device answers an address that is not aligned with an error that ends its context. */
  @Test
  void kernelsGetNoAddressWithinAnElement() {
    SimulatedCuda simulated = Simulation.with(1);
    try (Library library = Library.on(0);
        Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = memory(tidepool);
      long address = library.context().call(() -> Cuda.cuMemAlloc(BYTES));
      Kernel place =
          memory.compile(
              KernelSource.cuda(
                  PLACE,
                  "place",
                  KernelParameter.inout("x", ElementType.FLOAT),
                  KernelParameter.out("at", ElementType.LONG)));
      Kernel twice = memory.compile(KernelSource.elementwise("x = x + x"));
      Kernel method = memory.compile(KernelSource.method(MethodHandles.lookup(), "increment"));
      try (UnifiedBuffer<byte[]> adopted =
              memory.adopt(ElementType.BYTE, at(address + 1, 403), () -> {});
          UnifiedBuffer<long[]> at = memory.allocate(ElementType.LONG, 1)) {
        adopted.fill((byte) 0);
        for (int from : new int[] {0, 3}) {
          UnifiedBuffer<float[]> view = adopted.slice(from, 400).as(ElementType.FLOAT);
          // To the stage and back, unless the view begins where an element may.
          long staged = from == 0 ? 2 : 0;
          long before = simulated.calls("cuMemcpyDtoDAsync_v2");
          place.execute(Arguments.of("x", view, "at", at), LaunchRange.of(1));
          long[] remainder = new long[1];
          at.copyTo(remainder);
          assertThat(remainder).containsExactly(0);
          assertThat(simulated.calls("cuMemcpyDtoDAsync_v2")).isEqualTo(before + staged);
          twice.execute(Arguments.of("x", view));
          assertThat(simulated.calls("cuMemcpyDtoDAsync_v2")).isEqualTo(before + 2 * staged);
          method.execute(Arguments.of("x", view), LaunchRange.of(100));
          assertThat(simulated.calls("cuMemcpyDtoDAsync_v2")).isEqualTo(before + 3 * staged);
          float[] values = new float[100];
          view.copyTo(values);
          assertThat(values[0]).isEqualTo(5);
          assertThat(values[99]).isEqualTo(1);
          view.fill((byte) 0);
        }
      }
      library.context().run(() -> Cuda.cuMemFree(address, ObjectKind.DEVICE_MEMORY));
    }
  }

  static void increment(int i, float[] x) {
    x[i] += 1;
  }

  /** Where others number the devices that are left out here, so does an export. */
  @Test
  void anExportNamesTheDeviceByTheDriversNumber() {
    SimulatedCuda simulated = Simulation.with(2);
    simulated.set(
        0, "attribute." + Cuda.CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, Cuda.CU_COMPUTEMODE_PROHIBITED);
    try (Tidepool tidepool = Simulation.open(new CudaProvider());
        UnifiedBuffer<float[]> buffer = memory(tidepool).allocate(ElementType.FLOAT, 10)) {
      try (DLPackExport tensor = DLPack.export(buffer);
          ArrowExport column = ArrowC.exportDevice(buffer)) {
        MemorySegment struct = MemorySegment.ofAddress(tensor.address()).reinterpret(80);
        assertThat(struct.get(JAVA_INT, 40)).as("device type").isEqualTo(2);
        assertThat(struct.get(JAVA_INT, 44)).as("device number").isEqualTo(1);
        MemorySegment array = MemorySegment.ofAddress(column.array()).reinterpret(128);
        assertThat(array.get(JAVA_LONG, 80)).as("device number").isEqualTo(1);
      }
    }
  }

  private static void assertRefused(
      UnifiedMemoryManager memory, long address, long bytes, String says) {
    AtomicInteger releases = new AtomicInteger();
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> memory.adopt(ElementType.INT, at(address, bytes), releases::incrementAndGet))
        .withMessageContaining(says);
    assertThat(releases).hasValue(0);
    assertThat(memory.statistics().activeBuffers()).isZero();
  }

  @Test
  void memoryOfTheHostIsRefused() {
    Simulation.with(1);
    try (Library library = Library.on(0);
        Tidepool tidepool = Simulation.open(new CudaProvider());
        Arena arena = Arena.ofConfined()) {
      assertRefused(
          memory(tidepool), arena.allocate(BYTES, 16).address(), BYTES, "is no memory of cuda:0");
      long pinned = library.context().call(() -> Cuda.cuMemHostAlloc(BYTES, false));
      assertRefused(memory(tidepool), pinned, BYTES, "adopt it as HOST_POINTER");
      library.context().run(() -> Cuda.cuMemFreeHost(pinned));
    }
  }

  @Test
  void memoryOfAnotherDeviceIsRefused() {
    Simulation.with(2);
    try (Library library = Library.on(1);
        Tidepool tidepool = Simulation.open(new CudaProvider())) {
      long address = library.context().call(() -> Cuda.cuMemAlloc(BYTES));
      assertRefused(memory(tidepool), address, BYTES, "is of CUDA device 1");
      library.context().run(() -> Cuda.cuMemFree(address, ObjectKind.DEVICE_MEMORY));
    }
  }

  @Test
  void memoryOfAnotherContextIsRefused() {
    Simulation.with(1);
    Cuda.cuInit();
    MethodHandle create = Installed.DRIVER.code("cuCtxCreate_v2", ADDRESS, JAVA_INT, JAVA_INT);
    MethodHandle destroy = Installed.DRIVER.code("cuCtxDestroy_v2", JAVA_LONG);
    long own = NativeCall.get("cuCtxCreate_v2", context -> (int) create.invokeExact(context, 0, 0));
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      // Creating it made it current.
      long address = Cuda.cuMemAlloc(BYTES);
      Cuda.cuCtxPopCurrent();
      assertRefused(memory(tidepool), address, BYTES, "another context");
      Cuda.cuCtxPushCurrent(own);
      Cuda.cuMemFree(address, ObjectKind.DEVICE_MEMORY);
    }
    NativeCall.call("cuCtxDestroy_v2", () -> (int) destroy.invokeExact(own));
  }

  @Test
  void moreThanThereIsIsRefused() {
    Simulation.with(1);
    try (Library library = Library.on(0);
        Tidepool tidepool = Simulation.open(new CudaProvider())) {
      long address = library.context().call(() -> Cuda.cuMemAlloc(BYTES));
      assertRefused(memory(tidepool), address, BYTES + (1 << 30), "ends after");
      assertRefused(memory(tidepool), address + 2, BYTES - 4, "not aligned");
      library.context().run(() -> Cuda.cuMemFree(address, ObjectKind.DEVICE_MEMORY));
    }
  }

  @Test
  void aColumnIsReadBehindTheEventOfItsProducer() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.setAll("latency_ns", 20_000_000);
    try (Library library = Library.on(0);
        Tidepool tidepool = Simulation.open(new CudaProvider());
        UnifiedMemoryManager producer =
            UnifiedMemoryManager.create(tidepool.accelerator("cuda:0"), MemoryOptions.defaults());
        Arena arena = Arena.ofConfined()) {
      UnifiedBuffer<int[]> source =
          producer.allocate(ElementType.INT, LENGTH, MemoryLocation.DEVICE);
      source.fill((byte) 0);
      try (ArrowExport export = ArrowC.exportDevice(source)) {
        MemorySegment array = MemorySegment.ofAddress(export.array()).reinterpret(128);
        assertThat(array.get(JAVA_LONG, 80)).as("device number").isZero();
        assertThat(array.get(JAVA_INT, 88)).as("device type").isEqualTo(2);
        assertThat(array.get(JAVA_LONG, 96)).as("event").isZero();
        long data = array.get(ADDRESS, 40).reinterpret(16).get(JAVA_LONG, 8);
        long event =
            library
                .context()
                .call(
                    () -> {
                      Cuda.cuMemsetD32Async(data, 9, LENGTH, library.stream());
                      long recorded = Cuda.cuEventCreate();
                      Cuda.cuEventRecord(recorded, library.stream());
                      return recorded;
                    });
        array.set(ADDRESS, 96, arena.allocateFrom(JAVA_LONG, event));
        int[] values = new int[LENGTH];
        try (ArrowColumn column =
            ArrowC.openDevice(memory(tidepool), export.array(), export.schema())) {
          column.buffer(ElementType.INT).copyTo(values);
        }
        assertThat(values).containsOnly(9);
        assertThat(export.isReleased()).isTrue();
        library.context().run(() -> Cuda.cuEventDestroy(event));
      }
    }
  }
}
