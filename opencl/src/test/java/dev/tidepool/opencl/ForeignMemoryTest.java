package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Memory objects that other code created in OpenCL. */
@ExtendWith(NothingLeaks.class)
class ForeignMemoryTest {
  private static final int LENGTH = 1_000;

  private static UnifiedMemoryManager memory(Tidepool tidepool) {
    return tidepool.memory(tidepool.accelerator("opencl:0"));
  }

  /** The context as another library finds it. */
  private static long context(UnifiedMemoryManager memory) {
    try (UnifiedBuffer<byte[]> any = memory.allocate(ElementType.BYTE, 1, MemoryLocation.DEVICE);
        NativeAccess access = memory.lend(NativeUse.write(any))) {
      return access.context();
    } finally {
      // The buffer has gone then.
      memory.synchronize();
    }
  }

  private static NativeHandle whole(long buffer, long bytes) {
    return new NativeHandle(NativeKind.OPENCL_BUFFER, buffer, 0, bytes);
  }

  @ParameterizedTest
  @EnumSource(MemoryMode.class)
  void aKernelComputesInAMemoryObject(MemoryMode mode) {
    try (Tidepool tidepool = OpenClConformance.open(mode)) {
      UnifiedMemoryManager memory = memory(tidepool);
      long buffer =
          OpenCL.clCreateBuffer(
              context(memory), OpenCL.CL_MEM_READ_WRITE, LENGTH, MemorySegment.NULL);
      AtomicInteger releases = new AtomicInteger();
      try (UnifiedBuffer<byte[]> adopted =
          memory.adopt(ElementType.BYTE, whole(buffer, LENGTH), releases::incrementAndGet)) {
        // The block holds it.
        OpenCL.clReleaseMemObject(buffer);
        adopted.fill((byte) 3);
        memory.compile(KernelSource.elementwise("x = x + x")).execute(Arguments.of("x", adopted));
        byte[] values = new byte[LENGTH];
        adopted.copyTo(values);
        assertThat(values).containsOnly(6);
        adopted.asSegment().fill((byte) 4);
        memory.compile(KernelSource.elementwise("x = x + x")).execute(Arguments.of("x", adopted));
        adopted.copyTo(values);
        assertThat(values).containsOnly(8);
        assertThat(releases).hasValue(0);
      }
      assertThat(releases).hasValue(1);
    }
  }

  @Test
  void memoryThatKernelsOnlyReadIsAdoptedForReading() {
    try (Tidepool tidepool = OpenClConformance.open(MemoryMode.DISCRETE)) {
      UnifiedMemoryManager memory = memory(tidepool);
      long buffer = create(memory, OpenCL.CL_MEM_READ_ONLY);
      try (UnifiedBuffer<byte[]> adopted =
              memory.adopt(ElementType.BYTE, whole(buffer, LENGTH), MapMode.READ, () -> {});
          UnifiedBuffer<byte[]> sum =
              memory.allocate(ElementType.BYTE, LENGTH, MemoryLocation.DEVICE)) {
        memory
            .compile(KernelSource.elementwise("y = x"))
            .execute(Arguments.of("x", adopted, "y", sum));
        byte[] values = new byte[LENGTH];
        byte[] seen = new byte[LENGTH];
        adopted.copyTo(values);
        sum.copyTo(seen);
        assertThat(seen).isEqualTo(values);
      }
      OpenCL.clReleaseMemObject(buffer);
    }
  }

  /** OpenCL makes no sub-buffer of a sub-buffer. */
  @Test
  void aKernelComputesInASliceOfASubBuffer() {
    int step = 4096;
    try (Tidepool tidepool = OpenClConformance.open(MemoryMode.DISCRETE)) {
      UnifiedMemoryManager memory = memory(tidepool);
      long whole =
          OpenCL.clCreateBuffer(
              context(memory), OpenCL.CL_MEM_READ_WRITE, 4 * step, MemorySegment.NULL);
      long buffer = OpenCL.clCreateSubBuffer(whole, step, 3 * step);
      Kernel increment =
          memory.compile(
              KernelSource.opencl(
                  "__kernel void inc(__global char* x) { x[get_global_id(0)] += 1; }",
                  "inc",
                  KernelParameter.inout("x", ElementType.BYTE)));
      try (UnifiedBuffer<byte[]> adopted =
          memory.adopt(ElementType.BYTE, whole(buffer, 3 * step), () -> {})) {
        adopted.fill((byte) 3);
        increment.execute(Arguments.of("x", adopted.slice(step, step)), LaunchRange.of(step));
        try (NativeAccess access =
            memory.lend(
                NativeUse.write(adopted.slice(2 * step, step)).as(NativeKind.OPENCL_BUFFER))) {
          assertThat(access.queue()).isNotZero();
        }
        byte[] values = new byte[3 * step];
        adopted.copyTo(values);
        for (int i = 0; i < values.length; i++) {
          assertThat(values[i]).isEqualTo((byte) (i / step == 1 ? 4 : 3));
        }
      }
      memory.synchronize();
      OpenCL.clReleaseMemObject(buffer);
      OpenCL.clReleaseMemObject(whole);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"FINE_SHARED_POINTERS", "DISCRETE_COARSE"})
  void kernelsGetNoAddressWithinAnElement(MemoryMode mode) {
    try (Tidepool tidepool = OpenClConformance.open(mode)) {
      UnifiedMemoryManager memory = memory(tidepool);
      Kernel place =
          memory.compile(
              KernelSource.opencl(
                  "__kernel void place(__global float* x, __global long* at)"
                      + " { at[0] = (long)(ulong)x % 4; x[0] = 2; }",
                  "place",
                  KernelParameter.inout("x", ElementType.FLOAT),
                  KernelParameter.out("at", ElementType.LONG)));
      Kernel twice = memory.compile(KernelSource.elementwise("x = x + x"));
      Kernel method = memory.compile(KernelSource.method(MethodHandles.lookup(), "increment"));
      try (UnifiedBuffer<byte[]> owned =
              memory.allocate(ElementType.BYTE, 4096, MemoryLocation.UNIFIED);
          NativeAccess access = memory.lend(NativeUse.readWrite(owned).as(NativeKind.OPENCL_SVM))) {
        long address = access.handle(owned).address() + 1;
        NativeHandle odd = new NativeHandle(NativeKind.OPENCL_SVM, address, 0, 403);
        try (UnifiedBuffer<byte[]> adopted = memory.adopt(ElementType.BYTE, odd, () -> {});
            UnifiedBuffer<long[]> at = memory.allocate(ElementType.LONG, 1)) {
          for (int from : new int[] {0, 3}) {
            UnifiedBuffer<float[]> view = adopted.slice(from, 400).as(ElementType.FLOAT);
            view.fill((byte) 0);
            place.execute(Arguments.of("x", view, "at", at), LaunchRange.of(1));
            long[] remainder = new long[1];
            at.copyTo(remainder);
            assertThat(remainder).containsExactly(0);
            twice.execute(Arguments.of("x", view));
            method.execute(Arguments.of("x", view), LaunchRange.of(100));
            float[] values = new float[100];
            view.copyTo(values);
            assertThat(values[0]).isEqualTo(5);
            assertThat(values[99]).isEqualTo(1);
          }
        }
      }
    }
  }

  static void increment(int i, float[] x) {
    x[i] += 1;
  }

  private static long create(UnifiedMemoryManager memory, long flags) {
    return OpenCL.clCreateBuffer(context(memory), flags, LENGTH, MemorySegment.NULL);
  }

  private static void assertRefused(UnifiedMemoryManager memory, NativeHandle handle, String says) {
    AtomicInteger releases = new AtomicInteger();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> memory.adopt(ElementType.INT, handle, releases::incrementAndGet))
        .withMessageContaining(says);
    assertThat(releases).hasValue(0);
    assertThat(memory.statistics().activeBuffers()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "4, MapMode.READ",
    "2, CL_MEM_WRITE_ONLY",
    "513, CL_MEM_HOST_NO_ACCESS",
    "257, CL_MEM_HOST_READ_ONLY",
    "129, CL_MEM_HOST_WRITE_ONLY"
  })
  void memoryThatMayNotBeUsedSoIsRefused(long flags, String says) {
    try (Tidepool tidepool = OpenClConformance.open(MemoryMode.DISCRETE)) {
      UnifiedMemoryManager memory = memory(tidepool);
      long buffer = create(memory, flags);
      assertRefused(memory, whole(buffer, LENGTH), says);
      OpenCL.clReleaseMemObject(buffer);
    }
  }

  @Test
  void placesThatAreNotInTheMemoryAreRefused() {
    try (Tidepool tidepool = OpenClConformance.open(MemoryMode.DISCRETE)) {
      UnifiedMemoryManager memory = memory(tidepool);
      long buffer = create(memory, OpenCL.CL_MEM_READ_WRITE);
      NativeKind kind = NativeKind.OPENCL_BUFFER;
      assertRefused(memory, whole(buffer, LENGTH + 4), "has 1000 bytes");
      assertRefused(memory, new NativeHandle(kind, buffer, 604, 400), "end at byte 1004");
      assertRefused(memory, new NativeHandle(kind, buffer, 2, 400), "byte 2 of the object");
      assertRefused(memory, new NativeHandle(kind, buffer, 0, 401), "no whole");
      assertRefused(memory, whole(0, LENGTH), "check what returned the handle");
      assertRefused(
          memory, new NativeHandle(NativeKind.CUDA_POINTER, 4096, 0, 400), "CUDA_POINTER");
      OpenCL.clReleaseMemObject(buffer);
    }
  }

  @Test
  void memoryOfAnotherContextIsRefused() throws InterruptedException {
    try (Tidepool tidepool = OpenClConformance.open(MemoryMode.DISCRETE);
        UnifiedMemoryManager memory = memory(tidepool)) {
      long device;
      try (UnifiedBuffer<byte[]> any = memory.copyOf(new byte[1]);
          NativeAccess access = memory.lend(NativeUse.read(any))) {
        device = access.device();
      }
      // The buffer is freed behind the lending, which another thread ends.
      for (int i = 0; i < 3000 && memory.statistics().activeBuffers() > 0; i++) {
        Thread.sleep(10);
      }
      long other = Pocl.anotherContext(device);
      long buffer =
          OpenCL.clCreateBuffer(other, OpenCL.CL_MEM_READ_WRITE, LENGTH, MemorySegment.NULL);
      assertRefused(memory, whole(buffer, LENGTH), "another context");
      OpenCL.clReleaseMemObject(buffer);
      OpenCL.clReleaseContext(other);
    }
  }
}
