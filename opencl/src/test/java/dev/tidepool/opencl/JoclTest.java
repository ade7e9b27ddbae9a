package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.reflect.Field;
import org.jocl.CL;
import org.jocl.NativePointerObject;
import org.jocl.Pointer;
import org.jocl.Sizeof;
import org.jocl.cl_command_queue;
import org.jocl.cl_context;
import org.jocl.cl_device_id;
import org.jocl.cl_kernel;
import org.jocl.cl_mem;
import org.jocl.cl_program;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** JOCL, a binding that knows nothing of Tidepool, runs its kernel over lent buffers. */
@ExtendWith(NothingLeaks.class)
class JoclTest {
  private static final int LENGTH = 1_000;
  private static final String SOURCE =
      "__kernel void triple(__global int* y) { y[get_global_id(0)] *= 3; }";

  /** JOCL has no public way to make its objects from handles. */
  private static <T extends NativePointerObject> T jocl(T empty, long handle) {
    try {
      Field pointer = NativePointerObject.class.getDeclaredField("nativePointer");
      pointer.setAccessible(true);
      pointer.setLong(empty, handle);
      return empty;
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  /** A kernel of JOCL's, in the context of a lent buffer. */
  private record Triple(cl_program program, cl_kernel kernel) implements AutoCloseable {
    static Triple in(NativeAccess access) {
      cl_context context = jocl(new cl_context(), access.context());
      cl_device_id device = jocl(new cl_device_id(), access.device());
      cl_program program =
          CL.clCreateProgramWithSource(context, 1, new String[] {SOURCE}, null, null);
      CL.clBuildProgram(program, 1, new cl_device_id[] {device}, null, null, null);
      return new Triple(program, CL.clCreateKernel(program, "triple", null));
    }

    void enqueue(cl_command_queue queue, NativeHandle handle) {
      assertThat(handle.offset()).isZero();
      cl_mem memory = jocl(new cl_mem(), handle.value());
      CL.clSetKernelArg(kernel, 0, Sizeof.cl_mem, Pointer.to(memory));
      CL.clEnqueueNDRangeKernel(queue, kernel, 1, null, new long[] {LENGTH}, null, 0, null, null);
    }

    @Override
    public void close() {
      CL.clReleaseKernel(kernel);
      CL.clReleaseProgram(program);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"FINE_SHARED_POINTERS", "DISCRETE"})
  void runsItsKernelBetweenOthers(MemoryMode mode) {
    CL.setExceptionsEnabled(true);
    try (Tidepool tidepool = OpenClConformance.open(mode)) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("opencl:0"));
      Kernel next = memory.compile(KernelSource.elementwise("y = y + 1"));
      UnifiedBuffer<int[]> y = memory.allocate(ElementType.INT, LENGTH, MemoryLocation.DEVICE);
      y.fill(new int[] {1});
      next.execute(Arguments.of("y", y));
      NativeUse use = NativeUse.readWrite(y).as(NativeKind.OPENCL_BUFFER);
      NativeAccess access = memory.lend(use);
      try (Triple triple = Triple.in(access)) {
        cl_command_queue queue = jocl(new cl_command_queue(), access.queue());
        triple.enqueue(queue, access.handle(y));
        access.close();
        next.execute(Arguments.of("y", y));
        int[] values = new int[LENGTH];
        y.copyTo(values);
        assertThat(values).containsOnly(7);
      }
    }
  }
}
