package dev.tidepool.opencl;

import static dev.tidepool.opencl.NativeCall.call;
import static dev.tidepool.opencl.NativeCall.check;
import static dev.tidepool.opencl.NativeCall.command;
import static dev.tidepool.opencl.NativeCall.list;
import static dev.tidepool.opencl.NativeCall.number;
import static dev.tidepool.opencl.NativeCall.query;
import static dev.tidepool.opencl.NativeCall.release;
import static dev.tidepool.opencl.NativeCall.requireRunning;
import static dev.tidepool.opencl.NativeCall.text;
import static dev.tidepool.opencl.OpenClLibrary.BITFIELD;
import static dev.tidepool.opencl.OpenClLibrary.HANDLE;
import static dev.tidepool.opencl.OpenClLibrary.INT;
import static dev.tidepool.opencl.OpenClLibrary.POINTER;
import static dev.tidepool.opencl.OpenClLibrary.SIZE;
import static dev.tidepool.spi.support.DriverCall.unexpected;
import static java.lang.foreign.MemorySegment.NULL;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.DriverCall;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The functions of {@code libOpenCL} that every implementation has from 1.2 on, one method for
 * each. Handles of OpenCL objects are {@code long}s and mean nothing outside of the classes that
 * own them. Memory is passed as segments. A call keeps its segments alive while it runs, but not
 * while an asynchronous command runs.
 *
 * <p>Only {@link NativeCall#check} checks return codes. Every method may be called from any thread,
 * except that one thread at a time sets the arguments of a kernel object and launches it. Once the
 * virtual machine begins to shut down, no method calls the driver: releases do nothing, and all
 * others throw {@link IllegalStateException}.
 */
final class OpenCL {
  static final long CL_DEVICE_TYPE_ALL = 0xFFFFFFFFL;
  static final long CL_DEVICE_TYPE_CPU = 1 << 1;
  static final long CL_DEVICE_TYPE_GPU = 1 << 2;
  static final long CL_MEM_READ_WRITE = 1;
  static final long CL_MEM_WRITE_ONLY = 1 << 1;
  static final long CL_MEM_READ_ONLY = 1 << 2;
  static final long CL_MEM_USE_HOST_PTR = 1 << 3;
  static final long CL_MEM_ALLOC_HOST_PTR = 1 << 4;
  static final long CL_MEM_COPY_HOST_PTR = 1 << 5;
  static final long CL_MEM_HOST_WRITE_ONLY = 1 << 7;
  static final long CL_MEM_HOST_READ_ONLY = 1 << 8;
  static final long CL_MEM_HOST_NO_ACCESS = 1 << 9;
  static final int CL_MEM_OBJECT_BUFFER = 0x10F0;
  static final long CL_MAP_READ = 1;
  static final long CL_MAP_WRITE = 1 << 1;
  static final int CL_COMPLETE = 0;

  private static final long CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED = 1 << 1;
  private static final int CL_PLATFORM_CONTEXT_PROPERTY = 0x1084;
  private static final int CL_EVENT_COMMAND_TYPE = 0x11D1;
  private static final int CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3;
  private static final int CL_PROGRAM_BUILD_LOG = 0x1183;
  private static final int CL_KERNEL_WORK_GROUP_SIZE = 0x11B0;
  private static final int CL_KERNEL_NUM_ARGS = 0x1191;
  private static final int CL_BUFFER_CREATE_TYPE_REGION = 0x1220;
  private static final int CL_MEM_TYPE = 0x1100;
  private static final int CL_MEM_FLAGS = 0x1101;
  private static final int CL_MEM_SIZE = 0x1102;
  private static final int CL_MEM_CONTEXT = 0x1106;
  private static final int CL_MEM_ASSOCIATED_MEMOBJECT = 0x1107;
  private static final int CL_MEM_OFFSET = 0x1108;
  private static final int CL_QUEUE_CONTEXT = 0x1090;
  private static final int CL_QUEUE_DEVICE = 0x1091;

  static final OpenClLibrary LIBRARY = OpenClLibrary.open(Settings.library());

  private static final MethodHandle GET_PLATFORM_IDS =
      LIBRARY.code("clGetPlatformIDs", INT, POINTER, POINTER);
  private static final MethodHandle GET_PLATFORM_INFO = info("clGetPlatformInfo");
  private static final MethodHandle GET_DEVICE_IDS =
      LIBRARY.code("clGetDeviceIDs", HANDLE, BITFIELD, INT, POINTER, POINTER);
  private static final MethodHandle GET_DEVICE_INFO = info("clGetDeviceInfo");
  private static final MethodHandle CREATE_CONTEXT =
      LIBRARY.handle("clCreateContext", POINTER, INT, POINTER, POINTER, POINTER, POINTER);
  private static final MethodHandle RELEASE_CONTEXT = LIBRARY.code("clReleaseContext", HANDLE);
  // Deprecated since 2.0, but exported by every version; plain in-order queues need no more.
  private static final MethodHandle CREATE_COMMAND_QUEUE =
      LIBRARY.handle("clCreateCommandQueue", HANDLE, HANDLE, BITFIELD, POINTER);
  private static final MethodHandle RELEASE_COMMAND_QUEUE =
      LIBRARY.code("clReleaseCommandQueue", HANDLE);
  private static final MethodHandle RETAIN_COMMAND_QUEUE =
      LIBRARY.code("clRetainCommandQueue", HANDLE);
  private static final MethodHandle GET_COMMAND_QUEUE_INFO = info("clGetCommandQueueInfo");
  private static final MethodHandle CREATE_BUFFER =
      LIBRARY.handle("clCreateBuffer", HANDLE, BITFIELD, SIZE, POINTER, POINTER);
  private static final MethodHandle CREATE_SUB_BUFFER =
      LIBRARY.handle("clCreateSubBuffer", HANDLE, BITFIELD, INT, POINTER, POINTER);
  private static final MethodHandle GET_MEM_OBJECT_INFO = info("clGetMemObjectInfo");
  private static final MethodHandle RETAIN_MEM_OBJECT = LIBRARY.code("clRetainMemObject", HANDLE);
  private static final MethodHandle RELEASE_MEM_OBJECT = LIBRARY.code("clReleaseMemObject", HANDLE);
  private static final MethodHandle CREATE_PROGRAM_WITH_SOURCE =
      LIBRARY.handle("clCreateProgramWithSource", HANDLE, INT, POINTER, POINTER, POINTER);
  private static final MethodHandle BUILD_PROGRAM =
      LIBRARY.code("clBuildProgram", HANDLE, INT, POINTER, POINTER, POINTER, POINTER);
  private static final MethodHandle GET_PROGRAM_BUILD_INFO =
      LIBRARY.code("clGetProgramBuildInfo", HANDLE, HANDLE, INT, SIZE, POINTER, POINTER);
  private static final MethodHandle RELEASE_PROGRAM = LIBRARY.code("clReleaseProgram", HANDLE);
  private static final MethodHandle CREATE_KERNEL =
      LIBRARY.handle("clCreateKernel", HANDLE, POINTER, POINTER);
  private static final MethodHandle GET_KERNEL_INFO = info("clGetKernelInfo");
  private static final MethodHandle GET_KERNEL_WORK_GROUP_INFO =
      LIBRARY.code("clGetKernelWorkGroupInfo", HANDLE, HANDLE, INT, SIZE, POINTER, POINTER);
  private static final MethodHandle SET_KERNEL_ARG =
      LIBRARY.code("clSetKernelArg", HANDLE, INT, SIZE, POINTER);
  private static final MethodHandle GET_KERNEL_ARG_INFO =
      LIBRARY.code("clGetKernelArgInfo", HANDLE, INT, INT, SIZE, POINTER, POINTER);
  private static final MethodHandle RELEASE_KERNEL = LIBRARY.code("clReleaseKernel", HANDLE);
  private static final MethodHandle WAIT_FOR_EVENTS = LIBRARY.code("clWaitForEvents", INT, POINTER);
  private static final MethodHandle GET_EVENT_INFO = info("clGetEventInfo");
  private static final MethodHandle RETAIN_EVENT = LIBRARY.code("clRetainEvent", HANDLE);
  private static final MethodHandle RELEASE_EVENT = LIBRARY.code("clReleaseEvent", HANDLE);
  private static final MethodHandle FLUSH = LIBRARY.code("clFlush", HANDLE);
  private static final MethodHandle FINISH = LIBRARY.code("clFinish", HANDLE);
  private static final MethodHandle ENQUEUE_READ_BUFFER =
      enqueue("clEnqueueReadBuffer", HANDLE, HANDLE, INT, SIZE, SIZE, POINTER);
  private static final MethodHandle ENQUEUE_WRITE_BUFFER =
      enqueue("clEnqueueWriteBuffer", HANDLE, HANDLE, INT, SIZE, SIZE, POINTER);
  private static final MethodHandle ENQUEUE_COPY_BUFFER =
      enqueue("clEnqueueCopyBuffer", HANDLE, HANDLE, HANDLE, SIZE, SIZE, SIZE);
  private static final MethodHandle ENQUEUE_FILL_BUFFER =
      enqueue("clEnqueueFillBuffer", HANDLE, HANDLE, POINTER, SIZE, SIZE, SIZE);
  private static final MethodHandle ENQUEUE_MAP_BUFFER =
      LIBRARY.memory(
          "clEnqueueMapBuffer",
          HANDLE,
          HANDLE,
          INT,
          BITFIELD,
          SIZE,
          SIZE,
          INT,
          POINTER,
          POINTER,
          POINTER);
  private static final MethodHandle ENQUEUE_UNMAP_MEM_OBJECT =
      enqueue("clEnqueueUnmapMemObject", HANDLE, HANDLE, POINTER);
  private static final MethodHandle ENQUEUE_MIGRATE_MEM_OBJECTS =
      enqueue("clEnqueueMigrateMemObjects", HANDLE, INT, POINTER, BITFIELD);
  private static final MethodHandle ENQUEUE_ND_RANGE_KERNEL =
      enqueue("clEnqueueNDRangeKernel", HANDLE, HANDLE, INT, POINTER, POINTER, POINTER);
  private static final MethodHandle ENQUEUE_MARKER = enqueue("clEnqueueMarkerWithWaitList", HANDLE);
  private static final MethodHandle ENQUEUE_BARRIER =
      enqueue("clEnqueueBarrierWithWaitList", HANDLE);

  private OpenCL() {}

  private static MethodHandle info(String function) {
    return LIBRARY.code(function, HANDLE, INT, SIZE, POINTER, POINTER);
  }

  /**
   * Links an enqueuing function; each ends with a wait list and the place for the command's event.
   */
  static MethodHandle enqueue(String function, MemoryLayout... parameters) {
    MemoryLayout[] all = Arrays.copyOf(parameters, parameters.length + 3);
    all[parameters.length] = INT;
    all[parameters.length + 1] = POINTER;
    all[parameters.length + 2] = POINTER;
    return LIBRARY.code(function, all);
  }

  // Platforms and devices.

  static long[] clGetPlatformIDs() {
    return list(
        "clGetPlatformIDs",
        (capacity, ids, count) -> (int) GET_PLATFORM_IDS.invokeExact(capacity, ids, count));
  }

  static long[] clGetDeviceIDs(long platform, long type) {
    return list(
        "clGetDeviceIDs",
        (capacity, ids, count) ->
            (int) GET_DEVICE_IDS.invokeExact(platform, type, capacity, ids, count));
  }

  static byte[] clGetPlatformInfo(long platform, int parameter) {
    return query(
        "clGetPlatformInfo",
        (size, value, actual) ->
            (int) GET_PLATFORM_INFO.invokeExact(platform, parameter, size, value, actual));
  }

  static byte[] clGetDeviceInfo(long device, int parameter) {
    return query(
        "clGetDeviceInfo",
        (size, value, actual) ->
            (int) GET_DEVICE_INFO.invokeExact(device, parameter, size, value, actual));
  }

  // Contexts and queues.

  static long clCreateContext(long platform, long[] devices) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment properties =
          arena.allocateFrom(JAVA_LONG, CL_PLATFORM_CONTEXT_PROPERTY, platform, 0);
      MemorySegment list = arena.allocateFrom(JAVA_LONG, devices);
      return NativeCall.create(
          "clCreateContext",
          ObjectKind.CONTEXT,
          error ->
              (long)
                  CREATE_CONTEXT.invokeExact(properties, devices.length, list, NULL, NULL, error));
    }
  }

  static void clReleaseContext(long context) {
    release(
        "clReleaseContext", ObjectKind.CONTEXT, () -> (int) RELEASE_CONTEXT.invokeExact(context));
  }

  /** Returns an in-order queue. */
  static long clCreateCommandQueue(long context, long device) {
    return NativeCall.create(
        "clCreateCommandQueue",
        ObjectKind.QUEUE,
        error -> (long) CREATE_COMMAND_QUEUE.invokeExact(context, device, 0L, error));
  }

  /** Retains a queue, which must be released once more. */
  static void clRetainCommandQueue(long queue) {
    call("clRetainCommandQueue", () -> (int) RETAIN_COMMAND_QUEUE.invokeExact(queue));
    ObjectKind.LIVE.created(ObjectKind.QUEUE);
  }

  static long clGetCommandQueueContext(long queue) {
    return queueInfo(queue, CL_QUEUE_CONTEXT);
  }

  static long clGetCommandQueueDevice(long queue) {
    return queueInfo(queue, CL_QUEUE_DEVICE);
  }

  private static long queueInfo(long queue, int parameter) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(JAVA_LONG);
      call(
          "clGetCommandQueueInfo",
          () ->
              (int)
                  GET_COMMAND_QUEUE_INFO.invokeExact(
                      queue, parameter, JAVA_LONG.byteSize(), value, NULL));
      return value.get(JAVA_LONG, 0);
    }
  }

  static void clReleaseCommandQueue(long queue) {
    release(
        "clReleaseCommandQueue",
        ObjectKind.QUEUE,
        () -> (int) RELEASE_COMMAND_QUEUE.invokeExact(queue));
  }

  static void clFlush(long queue) {
    call("clFlush", () -> (int) FLUSH.invokeExact(queue));
  }

  /** Blocks until all enqueued commands have ended. */
  static void clFinish(long queue) {
    call("clFinish", () -> (int) FINISH.invokeExact(queue));
  }

  // Memory.

  static long clCreateBuffer(long context, long flags, long byteSize, MemorySegment hostPointer) {
    return NativeCall.create(
        "clCreateBuffer",
        ObjectKind.MEMORY,
        error -> (long) CREATE_BUFFER.invokeExact(context, flags, byteSize, hostPointer, error));
  }

  static long clCreateSubBuffer(long buffer, long offset, long byteSize) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment region = arena.allocateFrom(JAVA_LONG, offset, byteSize);
      return NativeCall.create(
          "clCreateSubBuffer",
          ObjectKind.MEMORY,
          error ->
              (long)
                  CREATE_SUB_BUFFER.invokeExact(
                      buffer, 0L, CL_BUFFER_CREATE_TYPE_REGION, region, error));
    }
  }

  /** Retains a memory object, which must be released once more. */
  static void clRetainMemObject(long memory) {
    call("clRetainMemObject", () -> (int) RETAIN_MEM_OBJECT.invokeExact(memory));
    ObjectKind.LIVE.created(ObjectKind.MEMORY);
  }

  static int clGetMemObjectType(long memory) {
    return memoryInfo(memory, CL_MEM_TYPE, JAVA_INT).get(JAVA_INT, 0);
  }

  static long clGetMemObjectFlags(long memory) {
    return memoryInfo(memory, CL_MEM_FLAGS, JAVA_LONG).get(JAVA_LONG, 0);
  }

  static long clGetMemObjectSize(long memory) {
    return memoryInfo(memory, CL_MEM_SIZE, JAVA_LONG).get(JAVA_LONG, 0);
  }

  static long clGetMemObjectContext(long memory) {
    return memoryInfo(memory, CL_MEM_CONTEXT, JAVA_LONG).get(JAVA_LONG, 0);
  }

  /** Returns the buffer that contains a sub-buffer; 0 if the object is no sub-buffer. */
  static long clGetMemObjectWhole(long memory) {
    return memoryInfo(memory, CL_MEM_ASSOCIATED_MEMOBJECT, JAVA_LONG).get(JAVA_LONG, 0);
  }

  /** Returns the offset of a sub-buffer. */
  static long clGetMemObjectOffset(long memory) {
    return memoryInfo(memory, CL_MEM_OFFSET, JAVA_LONG).get(JAVA_LONG, 0);
  }

  private static MemorySegment memoryInfo(long memory, int parameter, ValueLayout type) {
    MemorySegment answer = MemorySegment.ofArray(new long[1]).asSlice(0, type.byteSize());
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(type);
      call(
          "clGetMemObjectInfo",
          () ->
              (int)
                  GET_MEM_OBJECT_INFO.invokeExact(memory, parameter, type.byteSize(), value, NULL));
      return answer.copyFrom(value);
    }
  }

  static void clReleaseMemObject(long memory) {
    release(
        "clReleaseMemObject",
        ObjectKind.MEMORY,
        () -> (int) RELEASE_MEM_OBJECT.invokeExact(memory));
  }

  // Commands: unless stated otherwise, all are asynchronous and return an event that the caller
  // releases.

  static long clEnqueueReadBuffer(long queue, long buffer, long offset, MemorySegment to) {
    return command(
        "clEnqueueReadBuffer",
        event ->
            (int)
                ENQUEUE_READ_BUFFER.invokeExact(
                    queue, buffer, 0, offset, to.byteSize(), to, 0, NULL, event));
  }

  static long clEnqueueWriteBuffer(long queue, long buffer, long offset, MemorySegment from) {
    return command(
        "clEnqueueWriteBuffer",
        event ->
            (int)
                ENQUEUE_WRITE_BUFFER.invokeExact(
                    queue, buffer, 0, offset, from.byteSize(), from, 0, NULL, event));
  }

  /** Reads, flushes the queue and waits for the command; throws the failure of the command. */
  static void clEnqueueReadBufferAndWait(long queue, long buffer, long offset, MemorySegment to) {
    awaited(
        "clEnqueueReadBuffer",
        queue,
        event ->
            (int)
                ENQUEUE_READ_BUFFER.invokeExact(
                    queue, buffer, 0, offset, to.byteSize(), to, 0, NULL, event));
  }

  /** Writes, flushes the queue and waits for the command; throws the failure of the command. */
  static void clEnqueueWriteBufferAndWait(
      long queue, long buffer, long offset, MemorySegment from) {
    awaited(
        "clEnqueueWriteBuffer",
        queue,
        event ->
            (int)
                ENQUEUE_WRITE_BUFFER.invokeExact(
                    queue, buffer, 0, offset, from.byteSize(), from, 0, NULL, event));
  }

  static long clEnqueueCopyBuffer(
      long queue, long source, long target, long sourceOffset, long targetOffset, long byteSize) {
    return command(
        "clEnqueueCopyBuffer",
        event ->
            (int)
                ENQUEUE_COPY_BUFFER.invokeExact(
                    queue, source, target, sourceOffset, targetOffset, byteSize, 0, NULL, event));
  }

  static long clEnqueueFillBuffer(long queue, long buffer, byte value, long offset, long byteSize) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pattern = arena.allocateFrom(JAVA_BYTE, value);
      return command(
          "clEnqueueFillBuffer",
          event ->
              (int)
                  ENQUEUE_FILL_BUFFER.invokeExact(
                      queue, buffer, pattern, 1L, offset, byteSize, 0, NULL, event));
    }
  }

  /** Memory of the requested size, without a scope, that is accessible once the event is done. */
  record Mapping(MemorySegment memory, long event) {}

  static Mapping clEnqueueMapBuffer(long queue, long buffer, long flags, long byteSize) {
    requireRunning("clEnqueueMapBuffer");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = arena.allocate(JAVA_INT);
      MemorySegment event = arena.allocate(JAVA_LONG);
      MemorySegment mapped;
      try {
        mapped =
            (MemorySegment)
                ENQUEUE_MAP_BUFFER.invokeExact(
                    queue, buffer, 0, flags, 0L, byteSize, 0, NULL, event, error);
      } catch (Throwable unexpected) {
        throw unexpected("clEnqueueMapBuffer", unexpected);
      }
      check("clEnqueueMapBuffer", error.get(JAVA_INT, 0));
      ObjectKind.LIVE.created(ObjectKind.EVENT);
      return new Mapping(mapped.reinterpret(byteSize), event.get(JAVA_LONG, 0));
    }
  }

  static long clEnqueueUnmapMemObject(long queue, long buffer, MemorySegment mapped) {
    return command(
        "clEnqueueUnmapMemObject",
        event -> (int) ENQUEUE_UNMAP_MEM_OBJECT.invokeExact(queue, buffer, mapped, 0, NULL, event));
  }

  /**
   * Launches over {@code global.length} dimensions.
   *
   * @param group the group's size in each dimension, or an empty array for the driver's choice
   * @param waits the events for which the launch waits
   */
  static long clEnqueueNDRangeKernel(
      long queue, long kernel, long[] global, long[] group, long... waits) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment globalSize = arena.allocateFrom(JAVA_LONG, global);
      MemorySegment groupSize = group.length == 0 ? NULL : arena.allocateFrom(JAVA_LONG, group);
      MemorySegment list = waits.length == 0 ? NULL : arena.allocateFrom(JAVA_LONG, waits);
      return command(
          "clEnqueueNDRangeKernel",
          event ->
              (int)
                  ENQUEUE_ND_RANGE_KERNEL.invokeExact(
                      queue,
                      kernel,
                      global.length,
                      NULL,
                      globalSize,
                      groupSize,
                      waits.length,
                      list,
                      event));
    }
  }

  /** Returns an event that completes when all commands enqueued so far have completed. */
  static long clEnqueueMarkerWithWaitList(long queue) {
    return command(
        "clEnqueueMarkerWithWaitList",
        event -> (int) ENQUEUE_MARKER.invokeExact(queue, 0, NULL, event));
  }

  /**
   * Returns an event that completes when all commands enqueued so far have completed; no command
   * enqueued later starts before.
   */
  static long clEnqueueBarrierWithWaitList(long queue) {
    return command(
        "clEnqueueBarrierWithWaitList",
        event -> (int) ENQUEUE_BARRIER.invokeExact(queue, 0, NULL, event));
  }

  /** Makes commands that are enqueued later wait until the awaited event has completed. */
  static long clEnqueueBarrierWithWaitList(long queue, long awaited) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment list = arena.allocateFrom(JAVA_LONG, awaited);
      return command(
          "clEnqueueBarrierWithWaitList",
          event -> (int) ENQUEUE_BARRIER.invokeExact(queue, 1, list, event));
    }
  }

  /**
   * Moves a buffer to the queue's device with undefined contents, which makes drivers allocate it.
   */
  static long clEnqueueMigrateMemObject(long queue, long buffer) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment list = arena.allocateFrom(JAVA_LONG, buffer);
      return command(
          "clEnqueueMigrateMemObjects",
          event ->
              (int)
                  ENQUEUE_MIGRATE_MEM_OBJECTS.invokeExact(
                      queue, 1, list, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, event));
    }
  }

  // Events.

  /** Blocks until the command has ended; throws an error with an unspecific code if it failed. */
  static void clWaitForEvents(long event) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment list = arena.allocateFrom(JAVA_LONG, event);
      call("clWaitForEvents", () -> (int) WAIT_FOR_EVENTS.invokeExact(1, list));
    }
  }

  /**
   * Submits a command, waits for its end, and throws its failure as an {@link OpenClEvent} does.
   * Small transfers take little longer than these calls, so one piece of native memory serves all
   * of them.
   */
  private static void awaited(String function, long queue, NativeCall.Command command) {
    requireRunning(function);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment list = arena.allocate(2 * JAVA_LONG.byteSize(), JAVA_LONG.byteSize());
      check(function, DriverCall.invoke(function, () -> command.invoke(list)));
      ObjectKind.LIVE.created(ObjectKind.EVENT);
      long event = list.get(JAVA_LONG, 0);
      try {
        flushAndWait(queue, list);
        int status =
            eventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, list.asSlice(JAVA_LONG.byteSize()));
        if (status < CL_COMPLETE) {
          throw NativeCall.failure(function, status);
        }
      } finally {
        clReleaseEvent(event);
      }
    }
  }

  /**
   * Flushes the queue and waits for a command. If that fails, waits for the commands as far as
   * possible before the caller gets the error: the caller may reuse their memory next.
   */
  private static void flushAndWait(long queue, MemorySegment event) {
    try {
      clFlush(queue);
      int ended =
          DriverCall.invoke("clWaitForEvents", () -> (int) WAIT_FOR_EVENTS.invokeExact(1, event));
      if (ended != ErrorCodes.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
        check("clWaitForEvents", ended);
      }
    } catch (RuntimeException refused) {
      Closing.surviving("clFinish", () -> DriverWait.untilEnded(() -> clFinish(queue)));
      throw refused;
    }
  }

  /**
   * Returns {@link #CL_COMPLETE}, a positive number for a command that is not done, or a negative
   * error.
   */
  static int clGetEventInfoStatus(long event) {
    return eventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS);
  }

  /** Returns the function that enqueued the command. */
  static String clGetEventInfoFunction(long event) {
    return switch (eventInfo(event, CL_EVENT_COMMAND_TYPE)) {
      case 0x11F0 -> "clEnqueueNDRangeKernel";
      case 0x11F3 -> "clEnqueueReadBuffer";
      case 0x11F4 -> "clEnqueueWriteBuffer";
      case 0x11F5 -> "clEnqueueCopyBuffer";
      case 0x11FB -> "clEnqueueMapBuffer";
      case 0x11FD -> "clEnqueueUnmapMemObject";
      case 0x11FE -> "clEnqueueMarkerWithWaitList";
      case 0x1205 -> "clEnqueueBarrierWithWaitList";
      case 0x1206 -> "clEnqueueMigrateMemObjects";
      case 0x1207 -> "clEnqueueFillBuffer";
      case 0x120A -> "clEnqueueSVMMemcpy";
      case 0x120B -> "clEnqueueSVMMemFill";
      case 0x120C -> "clEnqueueSVMMap";
      case 0x120D -> "clEnqueueSVMUnmap";
      default -> "a command";
    };
  }

  // An answer of fixed size needs no query for its size; polling threads call this often.
  private static int eventInfo(long event, int parameter) {
    try (Arena arena = Arena.ofConfined()) {
      return eventInfo(event, parameter, arena.allocate(JAVA_INT));
    }
  }

  private static int eventInfo(long event, int parameter, MemorySegment value) {
    call(
        "clGetEventInfo",
        () -> (int) GET_EVENT_INFO.invokeExact(event, parameter, JAVA_INT.byteSize(), value, NULL));
    return value.get(JAVA_INT, 0);
  }

  /** Retains an event, which must be released once more. */
  static void clRetainEvent(long event) {
    call("clRetainEvent", () -> (int) RETAIN_EVENT.invokeExact(event));
    ObjectKind.LIVE.created(ObjectKind.EVENT);
  }

  static void clReleaseEvent(long event) {
    release("clReleaseEvent", ObjectKind.EVENT, () -> (int) RELEASE_EVENT.invokeExact(event));
  }

  // Programs and kernels.

  static long clCreateProgramWithSource(long context, String source) {
    try (Arena arena = Arena.ofConfined()) {
      byte[] text = source.getBytes(StandardCharsets.UTF_8);
      MemorySegment strings = arena.allocateFrom(ADDRESS, arena.allocateFrom(JAVA_BYTE, text));
      MemorySegment lengths = arena.allocateFrom(JAVA_LONG, text.length);
      return NativeCall.create(
          "clCreateProgramWithSource",
          ObjectKind.PROGRAM,
          error ->
              (long) CREATE_PROGRAM_WITH_SOURCE.invokeExact(context, 1, strings, lengths, error));
    }
  }

  /** Blocks while the driver compiles; returns the code, because a failure has a log to fetch. */
  static int clBuildProgram(long program, long device, String options) {
    requireRunning("clBuildProgram");
    try (Arena arena = Arena.ofConfined()) {
      return (int)
          BUILD_PROGRAM.invokeExact(
              program,
              1,
              arena.allocateFrom(JAVA_LONG, device),
              arena.allocateFrom(options),
              NULL,
              NULL);
    } catch (Throwable unexpected) {
      throw unexpected("clBuildProgram", unexpected);
    }
  }

  static String clGetProgramBuildLog(long program, long device) {
    return text(
        query(
            "clGetProgramBuildInfo",
            (size, value, actual) ->
                (int)
                    GET_PROGRAM_BUILD_INFO.invokeExact(
                        program, device, CL_PROGRAM_BUILD_LOG, size, value, actual)));
  }

  static void clReleaseProgram(long program) {
    release(
        "clReleaseProgram", ObjectKind.PROGRAM, () -> (int) RELEASE_PROGRAM.invokeExact(program));
  }

  static long clCreateKernel(long program, String entry) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom(entry);
      return NativeCall.create(
          "clCreateKernel",
          ObjectKind.KERNEL,
          error -> (long) CREATE_KERNEL.invokeExact(program, name, error));
    }
  }

  static int clGetKernelNumArgs(long kernel) {
    return (int)
        number(
            query(
                "clGetKernelInfo",
                (size, value, actual) ->
                    (int)
                        GET_KERNEL_INFO.invokeExact(
                            kernel, CL_KERNEL_NUM_ARGS, size, value, actual)));
  }

  /**
   * Returns information from the source about a parameter; the program must be built with the
   * option for that.
   */
  static byte[] clGetKernelArgInfo(long kernel, int index, int parameter) {
    return query(
        "clGetKernelArgInfo",
        (size, value, actual) ->
            (int) GET_KERNEL_ARG_INFO.invokeExact(kernel, index, parameter, size, value, actual));
  }

  static long clGetKernelWorkGroupSize(long kernel, long device) {
    return number(
        query(
            "clGetKernelWorkGroupInfo",
            (size, value, actual) ->
                (int)
                    GET_KERNEL_WORK_GROUP_INFO.invokeExact(
                        kernel, device, CL_KERNEL_WORK_GROUP_SIZE, size, value, actual)));
  }

  static void clSetKernelArg(long kernel, int index, MemorySegment value) {
    call(
        "clSetKernelArg",
        () -> (int) SET_KERNEL_ARG.invokeExact(kernel, index, value.byteSize(), value));
  }

  static void clSetKernelArgLocal(long kernel, int index, long byteSize) {
    call("clSetKernelArg", () -> (int) SET_KERNEL_ARG.invokeExact(kernel, index, byteSize, NULL));
  }

  static void clReleaseKernel(long kernel) {
    release("clReleaseKernel", ObjectKind.KERNEL, () -> (int) RELEASE_KERNEL.invokeExact(kernel));
  }
}
