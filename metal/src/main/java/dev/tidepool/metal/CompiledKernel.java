package dev.tidepool.metal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.AcceleratorException;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.CompilerLog;
import dev.tidepool.spi.support.GroupSizes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * One function of a source that Metal compiled for one device.
 *
 * @param device the device on which it runs
 * @param entry its name
 * @param pipeline the {@code id<MTLComputePipelineState>}
 * @param maxItems the most items of one group
 * @param width the number of items that the device runs at once
 * @param ownGroupMemory bytes of group memory that the code declares
 * @param bindings its parameters, as Metal reports them
 */
record CompiledKernel(
    MetalDevice device,
    String entry,
    long pipeline,
    long maxItems,
    long width,
    long ownGroupMemory,
    List<Binding> bindings)
    implements AutoCloseable {

  /**
   * A parameter.
   *
   * @param isGroupMemory true for memory of the group; false for a pointer to memory of the device,
   *     or a reference
   * @param index its index among those of its kind
   * @param dataBytes the bytes of the type to which it points
   * @param dataType the {@code MTLDataType} to which it points
   */
  record Binding(String name, boolean isGroupMemory, int index, long dataBytes, long dataType) {}

  /**
   * Compiles a source; may take seconds.
   *
   * @throws KernelCompilationException if the compiler refuses the source, with the compiler's log,
   *     or if the source has no such entry
   */
  static CompiledKernel compile(MetalDevice device, String source, String entry) {
    return ObjectiveC.pooled(
        () -> {
          long library = library(device, source, entry);
          try {
            return of(device, library, entry);
          } finally {
            NativeCall.release(ObjectKind.LIBRARY, library);
          }
        });
  }

  private static long library(MetalDevice device, String source, String entry) {
    long options = Metal.newSafeCompileOptions();
    try {
      Metal.Made made = Metal.newLibrary(device.handle(), Foundation.string(source), options);
      // An error together with a library is a warning.
      if (made.object() != 0) {
        return made.object();
      }
      throw refused(device, entry, made.error());
    } finally {
      NativeCall.release(ObjectKind.COMPILE_OPTIONS, options);
    }
  }

  private static RuntimeException refused(MetalDevice device, String entry, long error) {
    Foundation.Failure failure = Foundation.failure(error);
    String log = failure.description();
    return error == 0
        ? NativeCall.nothing("newLibraryWithSource:options:error:")
        : new KernelCompilationException(
            device.name()
                + " refused the source of kernel '"
                + entry
                + "'"
                + CompilerLog.firstError(log),
            log);
  }

  private static CompiledKernel of(MetalDevice device, long library, String entry) {
    long function = Metal.newFunction(library, Foundation.string(entry));
    if (function == 0) {
      String names =
          Foundation.elements(Metal.functionNames(library)).stream()
              .map(Foundation::text)
              .collect(Collectors.joining(", "));
      throw new KernelCompilationException(
          "the source has no kernel function '"
              + entry
              + "'; "
              + (names.isEmpty() ? "declare it kernel void" : "it has " + names),
          "");
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment reflection = arena.allocate(JAVA_LONG);
      Metal.Made made = Metal.newPipeline(device.handle(), function, reflection);
      if (made.object() == 0) {
        Foundation.Failure failure = Foundation.failure(made.error());
        throw new AcceleratorException(
            "newComputePipelineStateWithFunction:options:reflection:error:",
            (int) failure.code(),
            failure.domain(),
            "kernel '" + entry + "': " + failure.description());
      }
      return of(device, entry, made.object(), reflection.get(JAVA_LONG, 0));
    } finally {
      NativeCall.release(ObjectKind.FUNCTION, function);
    }
  }

  private static CompiledKernel of(
      MetalDevice device, String entry, long pipeline, long reflection) {
    try {
      return new CompiledKernel(
          device,
          entry,
          pipeline,
          Metal.maxTotalThreadsPerThreadgroup(pipeline),
          Metal.threadExecutionWidth(pipeline),
          Metal.staticThreadgroupMemoryLength(pipeline),
          bindings(reflection));
    } catch (RuntimeException | Error failed) {
      Closing.surviving("release", () -> NativeCall.release(ObjectKind.PIPELINE, pipeline));
      throw failed;
    }
  }

  private static List<Binding> bindings(long reflection) {
    List<Binding> bindings = new ArrayList<>();
    for (long binding : Foundation.elements(reflection == 0 ? 0 : Metal.bindings(reflection))) {
      long type = Metal.bindingType(binding);
      String name = Metal.bindingName(binding);
      int index = (int) Metal.bindingIndex(binding);
      if (type == Metal.BINDING_BUFFER) {
        bindings.add(
            new Binding(
                name, false, index, Metal.bufferDataSize(binding), Metal.bufferDataType(binding)));
      } else if (type == Metal.BINDING_GROUP_MEMORY) {
        bindings.add(new Binding(name, true, index, 0, 0));
      }
    }
    return bindings;
  }

  /** Returns the group sizes in which the kernel runs. */
  GroupSizes groups() {
    return new GroupSizes(entry, device.name(), maxItems, device.properties().maxGroup());
  }

  @Override
  public void close() {
    if (!Shutdown.hasBegun()) {
      Closing.surviving("release", () -> NativeCall.release(ObjectKind.PIPELINE, pipeline));
    }
  }
}
