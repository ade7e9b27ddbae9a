package dev.tidepool.opencl;

import static dev.tidepool.opencl.NativeCall.command;
import static dev.tidepool.opencl.NativeCall.release;
import static dev.tidepool.opencl.OpenCL.LIBRARY;
import static dev.tidepool.opencl.OpenClLibrary.BITFIELD;
import static dev.tidepool.opencl.OpenClLibrary.HANDLE;
import static dev.tidepool.opencl.OpenClLibrary.INT;
import static dev.tidepool.opencl.OpenClLibrary.POINTER;
import static dev.tidepool.opencl.OpenClLibrary.SIZE;
import static java.lang.foreign.MemorySegment.NULL;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.tidepool.spi.support.DriverCall;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Optional;

/**
 * Shared virtual memory: functions of OpenCL 2.0 that a library may lack. They are used only if all
 * are present. Pointers into this memory are the same on host and device.
 */
final class SvmFunctions {
  static final long CL_MEM_SVM_FINE_GRAIN_BUFFER = 1 << 10;

  private static final List<String> NAMES =
      List.of(
          "clSVMAlloc",
          "clSVMFree",
          "clEnqueueSVMMap",
          "clEnqueueSVMUnmap",
          "clEnqueueSVMMemcpy",
          "clEnqueueSVMMemFill",
          "clSetKernelArgSVMPointer");

  private static final MethodHandle SVM_ALLOC =
      LIBRARY.memory("clSVMAlloc", HANDLE, BITFIELD, SIZE, INT);
  private static final MethodHandle SVM_FREE = LIBRARY.nothing("clSVMFree", HANDLE, POINTER);
  private static final MethodHandle ENQUEUE_SVM_MAP =
      OpenCL.enqueue("clEnqueueSVMMap", HANDLE, INT, BITFIELD, POINTER, SIZE);
  private static final MethodHandle ENQUEUE_SVM_UNMAP =
      OpenCL.enqueue("clEnqueueSVMUnmap", HANDLE, POINTER);
  private static final MethodHandle ENQUEUE_SVM_MEMCPY =
      OpenCL.enqueue("clEnqueueSVMMemcpy", HANDLE, INT, POINTER, POINTER, SIZE);
  private static final MethodHandle ENQUEUE_SVM_MEM_FILL =
      OpenCL.enqueue("clEnqueueSVMMemFill", HANDLE, POINTER, POINTER, SIZE, SIZE);
  private static final MethodHandle SET_KERNEL_ARG_SVM_POINTER =
      LIBRARY.code("clSetKernelArgSVMPointer", HANDLE, INT, POINTER);

  private static final Optional<SvmFunctions> FOUND =
      NAMES.stream().allMatch(LIBRARY::has) ? Optional.of(new SvmFunctions()) : Optional.empty();

  private SvmFunctions() {}

  static Optional<SvmFunctions> find() {
    return FOUND;
  }

  /** Returns memory of the requested size, without a scope; empty if the driver has none left. */
  Optional<MemorySegment> clSVMAlloc(long context, long flags, long byteSize) {
    NativeCall.requireRunning("clSVMAlloc");
    MemorySegment memory;
    try {
      memory = (MemorySegment) SVM_ALLOC.invokeExact(context, flags, byteSize, 0);
    } catch (Throwable unexpected) {
      throw DriverCall.unexpected("clSVMAlloc", unexpected);
    }
    if (memory.address() == 0) {
      return Optional.empty();
    }
    ObjectKind.LIVE.created(ObjectKind.SHARED_VIRTUAL_MEMORY);
    return Optional.of(memory.reinterpret(byteSize));
  }

  void clSVMFree(long context, MemorySegment memory) {
    release(
        "clSVMFree",
        ObjectKind.SHARED_VIRTUAL_MEMORY,
        () -> {
          SVM_FREE.invokeExact(context, memory);
          return ErrorCodes.CL_SUCCESS;
        });
  }

  long clEnqueueSVMMap(long queue, long flags, MemorySegment memory) {
    return command(
        "clEnqueueSVMMap",
        event ->
            (int)
                ENQUEUE_SVM_MAP.invokeExact(
                    queue, 0, flags, memory, memory.byteSize(), 0, NULL, event));
  }

  long clEnqueueSVMUnmap(long queue, MemorySegment memory) {
    return command(
        "clEnqueueSVMUnmap",
        event -> (int) ENQUEUE_SVM_UNMAP.invokeExact(queue, memory, 0, NULL, event));
  }

  /** Copies bytes; either side may also be ordinary host memory. */
  long clEnqueueSVMMemcpy(long queue, MemorySegment target, MemorySegment source) {
    return command(
        "clEnqueueSVMMemcpy",
        event ->
            (int)
                ENQUEUE_SVM_MEMCPY.invokeExact(
                    queue, 0, target, source, source.byteSize(), 0, NULL, event));
  }

  long clEnqueueSVMMemFill(long queue, MemorySegment memory, byte value) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pattern = arena.allocateFrom(JAVA_BYTE, value);
      return command(
          "clEnqueueSVMMemFill",
          event ->
              (int)
                  ENQUEUE_SVM_MEM_FILL.invokeExact(
                      queue, memory, pattern, 1L, memory.byteSize(), 0, NULL, event));
    }
  }

  void clSetKernelArgSVMPointer(long kernel, int index, MemorySegment memory) {
    NativeCall.call(
        "clSetKernelArgSVMPointer",
        () -> (int) SET_KERNEL_ARG_SVM_POINTER.invokeExact(kernel, index, memory));
  }
}
