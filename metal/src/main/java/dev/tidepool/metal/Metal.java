package dev.tidepool.metal;

import static java.lang.foreign.MemoryLayout.structLayout;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.spi.support.DriverCall;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.util.List;

/**
 * Metal's functions and messages that Tidepool uses, each in a method of its own. Objects are
 * handles; names, numbers and types are those of Apple's documentation of the framework.
 */
final class Metal {
  private static final MemoryLayout MTL_SIZE = structLayout(JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final MemoryLayout NS_RANGE = structLayout(JAVA_LONG, JAVA_LONG);

  /** {@code MTLResourceStorageModeShared}: memory that host and device can access. */
  static final long SHARED = 0;

  /** {@code MTLResourceStorageModePrivate}: memory that only the device can access. */
  static final long PRIVATE = 2 << 4;

  /** {@code MTLStorageModePrivate}, as a resource reports it. */
  static final long STORAGE_MODE_PRIVATE = 2;

  /** {@code MTLMathModeSafe}. */
  static final long MATH_MODE_SAFE = 0;

  static final long PRECISE_FUNCTIONS = 1;

  /** {@code MTLStorageModeShared}, as a resource reports it. */
  static final long STORAGE_MODE_SHARED = 0;

  /** {@code MTLCommandBufferStatusCompleted}; the only greater status is an error. */
  static final long STATUS_COMPLETED = 4;

  /** {@code MTLBindingTypeBuffer}. */
  static final long BINDING_BUFFER = 0;

  /** {@code MTLBindingTypeThreadgroupMemory}. */
  static final long BINDING_GROUP_MEMORY = 1;

  // MTLPipelineOptionBindingInfo and MTLPipelineOptionBufferTypeInfo.
  private static final long WITH_BINDINGS = 1 | 2;

  private static final LinkedFunction CREATE_SYSTEM_DEFAULT_DEVICE =
      LinkedFunction.of("MTLCreateSystemDefaultDevice", FunctionDescriptor.of(JAVA_LONG));
  private static final LinkedFunction COPY_ALL_DEVICES =
      LinkedFunction.of("MTLCopyAllDevices", FunctionDescriptor.of(JAVA_LONG));

  private static final Signature OBJECT = Signature.of(JAVA_LONG);
  private static final Signature NUMBER = OBJECT;
  private static final Signature TRUTH = Signature.of(JAVA_BYTE);
  private static final Signature SIZE = Signature.ofStruct(MTL_SIZE);
  private static final Signature OBJECT_OF_1 = Signature.of(JAVA_LONG, JAVA_LONG);
  private static final Signature OBJECT_OF_2 = Signature.of(JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final Signature OBJECT_OF_4 =
      Signature.of(JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final Signature OBJECT_OF_2_AND_ERROR =
      Signature.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS);
  private static final Signature PIPELINE =
      Signature.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);
  private static final Signature NOTHING = Signature.ofVoid();
  private static final Signature NOTHING_OF_1 = Signature.ofVoid(JAVA_LONG);
  private static final Signature NOTHING_OF_TRUTH = Signature.ofVoid(JAVA_BYTE);
  private static final Signature NOTHING_OF_2 = Signature.ofVoid(JAVA_LONG, JAVA_LONG);
  private static final Signature NOTHING_OF_3 = Signature.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final Signature NOTHING_OF_5 =
      Signature.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  // The last is a uint8_t, which callers extend with zeros on AArch64; a Java byte would be
  // extended by its sign.
  private static final Signature FILL_TYPES = Signature.ofVoid(JAVA_LONG, NS_RANGE, JAVA_INT);
  private static final Signature BYTES_TYPES = Signature.ofVoid(ADDRESS, JAVA_LONG, JAVA_LONG);
  private static final Signature DISPATCH_TYPES = Signature.ofVoid(MTL_SIZE, MTL_SIZE);

  private static final Message NAME = Message.of("MTLDevice", "name", OBJECT);
  private static final Message HAS_UNIFIED_MEMORY =
      Message.of("MTLDevice", "hasUnifiedMemory", TRUTH);
  private static final Message MAX_BUFFER_LENGTH =
      Message.of("MTLDevice", "maxBufferLength", NUMBER);
  private static final Message RECOMMENDED =
      Message.of("MTLDevice", "recommendedMaxWorkingSetSize", NUMBER);
  private static final Message CURRENT_ALLOCATED =
      Message.of("MTLDevice", "currentAllocatedSize", NUMBER);
  private static final Message MAX_GROUP =
      Message.of("MTLDevice", "maxThreadsPerThreadgroup", SIZE);
  private static final Message MAX_GROUP_MEMORY =
      Message.of("MTLDevice", "maxThreadgroupMemoryLength", NUMBER);
  private static final Message NEW_BUFFER =
      Message.of("MTLDevice", "newBufferWithLength:options:", OBJECT_OF_2);
  private static final Message NEW_BUFFER_NO_COPY =
      Message.of("MTLDevice", "newBufferWithBytesNoCopy:length:options:deallocator:", OBJECT_OF_4);
  private static final Message NEW_QUEUE =
      Message.of("MTLDevice", "newCommandQueueWithMaxCommandBufferCount:", OBJECT_OF_1);
  private static final Message NEW_SHARED_EVENT = Message.of("MTLDevice", "newSharedEvent", OBJECT);
  private static final Message NEW_LIBRARY =
      Message.of("MTLDevice", "newLibraryWithSource:options:error:", OBJECT_OF_2_AND_ERROR);
  private static final Message NEW_PIPELINE =
      Message.of(
          "MTLDevice", "newComputePipelineStateWithFunction:options:reflection:error:", PIPELINE);
  private static final Message CONTENTS = Message.of("MTLBuffer", "contents", OBJECT);
  private static final Message LENGTH = Message.of("MTLBuffer", "length", NUMBER);
  private static final Message STORAGE_MODE = Message.of("MTLResource", "storageMode", NUMBER);
  private static final Message RESOURCE_DEVICE = Message.of("MTLResource", "device", OBJECT);
  private static final Message COMMAND_BUFFER =
      Message.of("MTLCommandQueue", "commandBuffer", OBJECT);
  private static final Message QUEUE_DEVICE = Message.of("MTLCommandQueue", "device", OBJECT);
  private static final Message BLIT = Message.of("MTLCommandBuffer", "blitCommandEncoder", OBJECT);
  private static final Message COMPUTE =
      Message.of("MTLCommandBuffer", "computeCommandEncoder", OBJECT);
  private static final Message WAIT_FOR_EVENT =
      Message.of("MTLCommandBuffer", "encodeWaitForEvent:value:", NOTHING_OF_2);
  private static final Message SIGNAL_EVENT =
      Message.of("MTLCommandBuffer", "encodeSignalEvent:value:", NOTHING_OF_2);
  private static final Message COMMIT = Message.of("MTLCommandBuffer", "commit", NOTHING);
  private static final Message WAIT = Message.of("MTLCommandBuffer", "waitUntilCompleted", NOTHING);
  private static final Message STATUS = Message.of("MTLCommandBuffer", "status", NUMBER);
  private static final Message ERROR = Message.of("MTLCommandBuffer", "error", OBJECT);
  private static final Message COPY =
      Message.of(
          "MTLBlitCommandEncoder",
          "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:",
          NOTHING_OF_5);
  private static final Message FILL =
      Message.of("MTLBlitCommandEncoder", "fillBuffer:range:value:", FILL_TYPES);
  private static final Message END_ENCODING =
      Message.of("MTLCommandEncoder", "endEncoding", NOTHING);
  private static final Message SET_PIPELINE =
      Message.of("MTLComputeCommandEncoder", "setComputePipelineState:", NOTHING_OF_1);
  private static final Message SET_BUFFER =
      Message.of("MTLComputeCommandEncoder", "setBuffer:offset:atIndex:", NOTHING_OF_3);
  private static final Message SET_BYTES =
      Message.of("MTLComputeCommandEncoder", "setBytes:length:atIndex:", BYTES_TYPES);
  private static final Message SET_GROUP_MEMORY =
      Message.of("MTLComputeCommandEncoder", "setThreadgroupMemoryLength:atIndex:", NOTHING_OF_2);
  private static final Message DISPATCH =
      Message.of(
          "MTLComputeCommandEncoder",
          "dispatchThreadgroups:threadsPerThreadgroup:",
          DISPATCH_TYPES);
  private static final Message NEW = Message.of("+NSObject", "new", OBJECT);
  private static final Message SET_FAST_MATH =
      Message.of("MTLCompileOptions", "setFastMathEnabled:", NOTHING_OF_TRUTH);
  private static final Message SET_MATH_MODE =
      Message.of("MTLCompileOptions", "setMathMode:", NOTHING_OF_1);
  private static final Message SET_FUNCTIONS =
      Message.of("MTLCompileOptions", "setMathFloatingPointFunctions:", NOTHING_OF_1);
  private static final Message NEW_FUNCTION =
      Message.of("MTLLibrary", "newFunctionWithName:", OBJECT_OF_1);
  private static final Message FUNCTION_NAMES = Message.of("MTLLibrary", "functionNames", OBJECT);
  private static final Message MAX_THREADS =
      Message.of("MTLComputePipelineState", "maxTotalThreadsPerThreadgroup", NUMBER);
  private static final Message EXECUTION_WIDTH =
      Message.of("MTLComputePipelineState", "threadExecutionWidth", NUMBER);
  private static final Message STATIC_MEMORY =
      Message.of("MTLComputePipelineState", "staticThreadgroupMemoryLength", NUMBER);
  private static final Message BINDINGS =
      Message.of("MTLComputePipelineReflection", "bindings", OBJECT);
  private static final Message BINDING_NAME = Message.of("MTLBinding", "name", OBJECT);
  private static final Message BINDING_TYPE = Message.of("MTLBinding", "type", NUMBER);
  private static final Message BINDING_INDEX = Message.of("MTLBinding", "index", NUMBER);
  private static final Message DATA_SIZE = Message.of("MTLBufferBinding", "bufferDataSize", NUMBER);
  private static final Message DATA_TYPE = Message.of("MTLBufferBinding", "bufferDataType", NUMBER);
  private static final Message SIGNALED_VALUE =
      Message.of("MTLSharedEvent", "signaledValue", NUMBER);
  private static final Message SET_SIGNALED_VALUE =
      Message.of("MTLSharedEvent", "setSignaledValue:", NOTHING_OF_1);

  private Metal() {}

  /** An owned object; or 0 and the error that explains why, which the pool owns. */
  record Made(long object, long error) {}

  // Devices

  /** Returns the default device, owned; 0 if this session has none. */
  static long createSystemDefaultDevice() {
    return counted(
        ObjectKind.DEVICE,
        NativeCall.answer(
            "MTLCreateSystemDefaultDevice",
            () -> (long) CREATE_SYSTEM_DEFAULT_DEVICE.handle().invokeExact()));
  }

  /** Returns a list of all devices, which the caller releases; 0 is an empty list. */
  static long copyAllDevices() {
    return NativeCall.answer(
        "MTLCopyAllDevices", () -> (long) COPY_ALL_DEVICES.handle().invokeExact());
  }

  /** Returns the name of a device. */
  static String name(long object) {
    return Foundation.text(
        NativeCall.answer("name", () -> (long) NAME.handle().invokeExact(object, NAME.selector())));
  }

  /** Returns whether host and device share one memory. */
  static boolean hasUnifiedMemory(long object) {
    return NativeCall.truth(
        "hasUnifiedMemory",
        () ->
            (byte) HAS_UNIFIED_MEMORY.handle().invokeExact(object, HAS_UNIFIED_MEMORY.selector()));
  }

  /** Returns the most bytes of one buffer. */
  static long maxBufferLength(long object) {
    return NativeCall.answer(
        "maxBufferLength",
        () -> (long) MAX_BUFFER_LENGTH.handle().invokeExact(object, MAX_BUFFER_LENGTH.selector()));
  }

  /**
   * Returns how many bytes of a device can be in use without loss of speed; 0 if it is not known.
   */
  static long recommendedMaxWorkingSetSize(long object) {
    return NativeCall.answer(
        "recommendedMaxWorkingSetSize",
        () -> (long) RECOMMENDED.handle().invokeExact(object, RECOMMENDED.selector()));
  }

  /** Returns the bytes of a device that this process uses. */
  static long currentAllocatedSize(long object) {
    return NativeCall.answer(
        "currentAllocatedSize",
        () -> (long) CURRENT_ALLOCATED.handle().invokeExact(object, CURRENT_ALLOCATED.selector()));
  }

  /** Returns the bytes that one group may share. */
  static long maxThreadgroupMemoryLength(long object) {
    return NativeCall.answer(
        "maxThreadgroupMemoryLength",
        () -> (long) MAX_GROUP_MEMORY.handle().invokeExact(object, MAX_GROUP_MEMORY.selector()));
  }

  /** Returns the most items of a group in each dimension. */
  static List<Long> maxThreadsPerThreadgroup(long object) {
    try (Arena arena = Arena.ofConfined()) {
      SegmentAllocator result = arena;
      MemorySegment size =
          (MemorySegment) MAX_GROUP.handle().invokeExact(result, object, MAX_GROUP.selector());
      return List.of(
          size.getAtIndex(JAVA_LONG, 0),
          size.getAtIndex(JAVA_LONG, 1),
          size.getAtIndex(JAVA_LONG, 2));
    } catch (Throwable thrown) {
      throw DriverCall.unexpected("maxThreadsPerThreadgroup", thrown);
    }
  }

  // Memory

  /** Returns a buffer; 0 if there is no room. */
  static long newBuffer(long object, long length, long options) {
    return counted(
        ObjectKind.BUFFER,
        NativeCall.answer(
            "newBufferWithLength:options:",
            () ->
                (long)
                    NEW_BUFFER
                        .handle()
                        .invokeExact(object, NEW_BUFFER.selector(), length, options)));
  }

  /**
   * Returns a shared buffer over whole pages of the host's memory; 0 if they cannot be used in
   * place.
   */
  static long newBufferWithBytesNoCopy(long object, MemorySegment pages) {
    return counted(
        ObjectKind.BUFFER,
        NativeCall.answer(
            "newBufferWithBytesNoCopy:length:options:deallocator:",
            () ->
                (long)
                    NEW_BUFFER_NO_COPY
                        .handle()
                        .invokeExact(
                            object,
                            NEW_BUFFER_NO_COPY.selector(),
                            pages,
                            pages.byteSize(),
                            SHARED,
                            0L)));
  }

  private static long counted(ObjectKind kind, long object) {
    if (object != 0) {
      ObjectKind.LIVE.created(kind);
    }
    return object;
  }

  /** Returns the address of a buffer's bytes on the host; 0 if the host cannot access them. */
  static long contents(long object) {
    return NativeCall.answer(
        "contents", () -> (long) CONTENTS.handle().invokeExact(object, CONTENTS.selector()));
  }

  /** Returns the bytes of a buffer. */
  static long length(long object) {
    return NativeCall.answer(
        "length", () -> (long) LENGTH.handle().invokeExact(object, LENGTH.selector()));
  }

  /** Returns the storage mode of a buffer: which of host and device can access it. */
  static long storageMode(long object) {
    return NativeCall.answer(
        "storageMode",
        () -> (long) STORAGE_MODE.handle().invokeExact(object, STORAGE_MODE.selector()));
  }

  /** Returns the device of a buffer. */
  static long deviceOfBuffer(long object) {
    return NativeCall.answer(
        "device",
        () -> (long) RESOURCE_DEVICE.handle().invokeExact(object, RESOURCE_DEVICE.selector()));
  }

  // Queues and events

  /** Returns a queue with at most a number of command buffers in progress. */
  static long newCommandQueue(long object, long count) {
    return NativeCall.create(
        "newCommandQueueWithMaxCommandBufferCount:",
        ObjectKind.QUEUE,
        () -> (long) NEW_QUEUE.handle().invokeExact(object, NEW_QUEUE.selector(), count));
  }

  /** Returns the device of a queue. */
  static long deviceOfQueue(long object) {
    return NativeCall.answer(
        "device", () -> (long) QUEUE_DEVICE.handle().invokeExact(object, QUEUE_DEVICE.selector()));
  }

  /** Returns an event that queues, devices and the host signal and wait for. */
  static long newSharedEvent(long object) {
    return NativeCall.create(
        "newSharedEvent",
        ObjectKind.SHARED_EVENT,
        () -> (long) NEW_SHARED_EVENT.handle().invokeExact(object, NEW_SHARED_EVENT.selector()));
  }

  /** Returns the value of a shared event. */
  static long signaledValue(long object) {
    return NativeCall.answer(
        "signaledValue",
        () -> (long) SIGNALED_VALUE.handle().invokeExact(object, SIGNALED_VALUE.selector()));
  }

  /** Sets the value of a shared event. */
  static void setSignaledValue(long object, long value) {
    NativeCall.run(
        "setSignaledValue:",
        () -> {
          SET_SIGNALED_VALUE.handle().invokeExact(object, SET_SIGNALED_VALUE.selector(), value);
        });
  }

  // Command buffers

  /** Returns a new command buffer, which the caller releases. Waits while the queue is full. */
  static long commandBuffer(long object) {
    long buffer =
        NativeCall.create(
            "commandBuffer",
            ObjectKind.COMMAND_BUFFER,
            () -> (long) COMMAND_BUFFER.handle().invokeExact(object, COMMAND_BUFFER.selector()));
    Foundation.retain(buffer);
    return buffer;
  }

  /** Makes commands that are encoded after this wait until an event has a value. */
  static void encodeWaitForEvent(long object, long event, long value) {
    NativeCall.run(
        "encodeWaitForEvent:value:",
        () -> {
          WAIT_FOR_EVENT.handle().invokeExact(object, WAIT_FOR_EVENT.selector(), event, value);
        });
  }

  /** Sets the value of an event when the commands encoded before have ended. */
  static void encodeSignalEvent(long object, long event, long value) {
    NativeCall.run(
        "encodeSignalEvent:value:",
        () -> {
          SIGNAL_EVENT.handle().invokeExact(object, SIGNAL_EVENT.selector(), event, value);
        });
  }

  /** Submits a command buffer to the device. */
  static void commit(long object) {
    NativeCall.run(
        "commit",
        () -> {
          COMMIT.handle().invokeExact(object, COMMIT.selector());
        });
  }

  /** Waits until a command buffer has ended, successfully or not. */
  static void waitUntilCompleted(long object) {
    NativeCall.run(
        "waitUntilCompleted",
        () -> {
          WAIT.handle().invokeExact(object, WAIT.selector());
        });
  }

  /** Returns the status of a command buffer. */
  static long status(long object) {
    return NativeCall.answer(
        "status", () -> (long) STATUS.handle().invokeExact(object, STATUS.selector()));
  }

  /** Returns the error of a command buffer; 0 if it did not fail. */
  static long error(long object) {
    return NativeCall.answer(
        "error", () -> (long) ERROR.handle().invokeExact(object, ERROR.selector()));
  }

  /** Returns an encoder of copies and fills, which the pool owns. */
  static long blitCommandEncoder(long object) {
    return encoder(
        "blitCommandEncoder",
        NativeCall.answer(
            "blitCommandEncoder", () -> (long) BLIT.handle().invokeExact(object, BLIT.selector())));
  }

  /** Returns an encoder of kernels, which the pool owns. */
  static long computeCommandEncoder(long object) {
    return encoder(
        "computeCommandEncoder",
        NativeCall.answer(
            "computeCommandEncoder",
            () -> (long) COMPUTE.handle().invokeExact(object, COMPUTE.selector())));
  }

  private static long encoder(String name, long encoder) {
    if (encoder == 0) {
      throw NativeCall.nothing(name);
    }
    return encoder;
  }

  /** Ends an encoder. */
  static void endEncoding(long object) {
    NativeCall.run(
        "endEncoding",
        () -> {
          END_ENCODING.handle().invokeExact(object, END_ENCODING.selector());
        });
  }

  // Copies and fills

  /** Copies bytes; offsets and size are multiples of 4. */
  static void copyFromBuffer(
      long object, long source, long sourceOffset, long target, long targetOffset, long size) {
    NativeCall.run(
        "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:",
        () -> {
          COPY.handle()
              .invokeExact(
                  object, COPY.selector(), source, sourceOffset, target, targetOffset, size);
        });
  }

  /** Sets bytes; offset and length are multiples of 4. */
  static void fillBuffer(long object, long buffer, long offset, long length, byte value) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment range = arena.allocateFrom(JAVA_LONG, offset, length);
      int extended = Byte.toUnsignedInt(value);
      NativeCall.run(
          "fillBuffer:range:value:",
          () -> {
            FILL.handle().invokeExact(object, FILL.selector(), buffer, range, extended);
          });
    }
  }

  // Kernels

  /** Chooses the kernel of an encoder. */
  static void setComputePipelineState(long object, long pipeline) {
    NativeCall.run(
        "setComputePipelineState:",
        () -> {
          SET_PIPELINE.handle().invokeExact(object, SET_PIPELINE.selector(), pipeline);
        });
  }

  /** Sets a pointer. */
  static void setBuffer(long object, long buffer, long offset, long index) {
    NativeCall.run(
        "setBuffer:offset:atIndex:",
        () -> {
          SET_BUFFER.handle().invokeExact(object, SET_BUFFER.selector(), buffer, offset, index);
        });
  }

  /** Sets a value, of at most 4 KiB. */
  static void setBytes(long object, MemorySegment bytes, long index) {
    NativeCall.run(
        "setBytes:length:atIndex:",
        () -> {
          SET_BYTES
              .handle()
              .invokeExact(object, SET_BYTES.selector(), bytes, bytes.byteSize(), index);
        });
  }

  /** Sets the memory of each group; a multiple of 16 bytes. */
  static void setThreadgroupMemoryLength(long object, long length, long index) {
    NativeCall.run(
        "setThreadgroupMemoryLength:atIndex:",
        () -> {
          SET_GROUP_MEMORY.handle().invokeExact(object, SET_GROUP_MEMORY.selector(), length, index);
        });
  }

  /** Runs the kernel for a number of groups of a number of items, in three dimensions each. */
  static void dispatchThreadgroups(long object, long[] groups, long[] items) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment grid = arena.allocateFrom(JAVA_LONG, groups);
      MemorySegment group = arena.allocateFrom(JAVA_LONG, items);
      NativeCall.run(
          "dispatchThreadgroups:threadsPerThreadgroup:",
          () -> {
            DISPATCH.handle().invokeExact(object, DISPATCH.selector(), grid, group);
          });
    }
  }

  /**
   * Returns compiler options with fast math off, which the caller releases. Since macOS 15 there
   * are two settings, one for arithmetic and one for functions such as {@code sqrt}.
   */
  static long newSafeCompileOptions() {
    long type = ObjectiveC.getClass("MTLCompileOptions");
    long options =
        NativeCall.create(
            "new",
            ObjectKind.COMPILE_OPTIONS,
            () -> (long) NEW.handle().invokeExact(type, NEW.selector()));
    if (Foundation.respondsTo(options, SET_MATH_MODE)) {
      long safe = MATH_MODE_SAFE;
      NativeCall.run(
          "setMathMode:",
          () -> {
            SET_MATH_MODE.handle().invokeExact(options, SET_MATH_MODE.selector(), safe);
          });
      long precise = PRECISE_FUNCTIONS;
      NativeCall.run(
          "setMathFloatingPointFunctions:",
          () -> {
            SET_FUNCTIONS.handle().invokeExact(options, SET_FUNCTIONS.selector(), precise);
          });
    } else {
      byte no = 0;
      NativeCall.run(
          "setFastMathEnabled:",
          () -> {
            SET_FAST_MATH.handle().invokeExact(options, SET_FAST_MATH.selector(), no);
          });
    }
    return options;
  }

  /** Compiles a source. */
  static Made newLibrary(long object, long source, long options) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = arena.allocate(JAVA_LONG);
      long library =
          NativeCall.answer(
              "newLibraryWithSource:options:error:",
              () ->
                  (long)
                      NEW_LIBRARY
                          .handle()
                          .invokeExact(object, NEW_LIBRARY.selector(), source, options, error));
      return new Made(counted(ObjectKind.LIBRARY, library), error.get(JAVA_LONG, 0));
    }
  }

  /** Returns a function of a library; 0 if there is none of that name. */
  static long newFunction(long object, long name) {
    return counted(
        ObjectKind.FUNCTION,
        NativeCall.answer(
            "newFunctionWithName:",
            () -> (long) NEW_FUNCTION.handle().invokeExact(object, NEW_FUNCTION.selector(), name)));
  }

  /**
   * Returns a function that is ready to run; {@code reflected} receives the information about its
   * parameters.
   */
  static Made newPipeline(long object, long function, MemorySegment reflected) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = arena.allocate(JAVA_LONG);
      long pipeline =
          NativeCall.answer(
              "newComputePipelineStateWithFunction:options:reflection:error:",
              () ->
                  (long)
                      NEW_PIPELINE
                          .handle()
                          .invokeExact(
                              object,
                              NEW_PIPELINE.selector(),
                              function,
                              WITH_BINDINGS,
                              reflected,
                              error));
      return new Made(counted(ObjectKind.PIPELINE, pipeline), error.get(JAVA_LONG, 0));
    }
  }

  /** Returns the names of the functions of a library. */
  static long functionNames(long object) {
    return NativeCall.answer(
        "functionNames",
        () -> (long) FUNCTION_NAMES.handle().invokeExact(object, FUNCTION_NAMES.selector()));
  }

  /** Returns the most items of a group of a kernel. */
  static long maxTotalThreadsPerThreadgroup(long object) {
    return NativeCall.answer(
        "maxTotalThreadsPerThreadgroup",
        () -> (long) MAX_THREADS.handle().invokeExact(object, MAX_THREADS.selector()));
  }

  /** Returns how many items of a kernel the device runs at once. */
  static long threadExecutionWidth(long object) {
    return NativeCall.answer(
        "threadExecutionWidth",
        () -> (long) EXECUTION_WIDTH.handle().invokeExact(object, EXECUTION_WIDTH.selector()));
  }

  /** Returns the bytes of group memory that a kernel declares itself. */
  static long staticThreadgroupMemoryLength(long object) {
    return NativeCall.answer(
        "staticThreadgroupMemoryLength",
        () -> (long) STATIC_MEMORY.handle().invokeExact(object, STATIC_MEMORY.selector()));
  }

  /** Returns a list with information about the parameters of a kernel. */
  static long bindings(long object) {
    return NativeCall.answer(
        "bindings", () -> (long) BINDINGS.handle().invokeExact(object, BINDINGS.selector()));
  }

  /** Returns the name of a parameter. */
  static String bindingName(long object) {
    return Foundation.text(
        NativeCall.answer(
            "name",
            () -> (long) BINDING_NAME.handle().invokeExact(object, BINDING_NAME.selector())));
  }

  /** Returns the kind of a parameter: a pointer, or group memory. */
  static long bindingType(long object) {
    return NativeCall.answer(
        "type", () -> (long) BINDING_TYPE.handle().invokeExact(object, BINDING_TYPE.selector()));
  }

  /** Returns the index of a parameter. */
  static long bindingIndex(long object) {
    return NativeCall.answer(
        "index", () -> (long) BINDING_INDEX.handle().invokeExact(object, BINDING_INDEX.selector()));
  }

  /** Returns the bytes of the type to which a parameter points. */
  static long bufferDataSize(long object) {
    return NativeCall.answer(
        "bufferDataSize",
        () -> (long) DATA_SIZE.handle().invokeExact(object, DATA_SIZE.selector()));
  }

  /** Returns the type to which a parameter points. */
  static long bufferDataType(long object) {
    return NativeCall.answer(
        "bufferDataType",
        () -> (long) DATA_TYPE.handle().invokeExact(object, DATA_TYPE.selector()));
  }
}
