package dev.tidepool.stream;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.ExecutionOptions;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.RawFile;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.kernel.FileKernels;
import dev.tidepool.stream.pipeline.ArrayEndpoint;
import dev.tidepool.stream.pipeline.StagePlan;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Runs kernels chunk by chunk, with a {@link Pipeline} of one kernel. */
public final class StreamedKernels implements FileKernels {
  /** Constructor for {@link java.util.ServiceLoader}. */
  public StreamedKernels() {}

  @Override
  public void execute(
      KernelSource source,
      Arguments arguments,
      UnifiedMemoryManager memory,
      ExecutionOptions options) {
    Map<String, KernelParameter.Access> accesses = StagePlan.accesses(source);
    Pipeline pipeline = Pipeline.empty().through(source).on(memory);
    named(arguments, source, accesses)
        .forEach(
            (name, value) -> {
              KernelParameter.Access access = accesses.get(name);
              if (access == null) {
                throw new IllegalArgumentException(
                    "the kernel has no '" + name + "'; it has " + accesses.keySet());
              }
              bind(pipeline, name, access, value, source);
            });
    StreamOptions streaming = StreamOptions.defaults();
    if (options.chunkBytes() > 0) {
      streaming = streaming.withChunkBytes(options.chunkBytes());
    }
    if (options.memoryLimit() > 0) {
      streaming = streaming.withMemoryLimit(options.memoryLimit());
    }
    pipeline.run(streaming);
  }

  private static Map<String, Object> named(
      Arguments arguments, KernelSource source, Map<String, KernelParameter.Access> accesses) {
    if (!arguments.isInOrder()) {
      return arguments.values();
    }
    List<Object> values = new ArrayList<>(arguments.values().values());
    if (source instanceof KernelSource.Elementwise || values.size() != accesses.size()) {
      throw new IllegalArgumentException(
          values.size()
              + " arguments in order for a kernel with "
              + accesses.keySet()
              + (source instanceof KernelSource.Elementwise
                  ? ", which has no order; name them"
                  : ""));
    }
    Map<String, Object> named = new LinkedHashMap<>();
    accesses.keySet().forEach(name -> named.put(name, values.get(named.size())));
    return named;
  }

  private static void bind(
      Pipeline pipeline,
      String name,
      KernelParameter.Access access,
      Object value,
      KernelSource source) {
    if (access == KernelParameter.Access.INOUT) {
      pipeline.replacing(name);
    }
    switch (value) {
      case Path file -> bind(access, () -> pipeline.and(name, file), () -> pipeline.to(name, file));
      case RawFile<?> file ->
          bind(access, () -> pipeline.and(name, file), () -> pipeline.to(name, file));
      case UnifiedBuffer<?> buffer ->
          bind(access, () -> pipeline.and(name, buffer), () -> pipeline.to(name, buffer));
      case Number number -> pipeline.with(name, number);
      case Boolean truth -> pipeline.with(name, truth);
      default -> {
        ArrayEndpoint<?> array = array(type(source, name, value), value);
        bind(access, () -> pipeline.and(name, array), () -> pipeline.to(name, array));
      }
    }
  }

  private static void bind(KernelParameter.Access access, Runnable source, Runnable sink) {
    if (access.reads()) {
      source.run();
    }
    if (access.writes()) {
      sink.run();
    }
  }

  private static <A> ArrayEndpoint<A> array(ElementType<A> type, Object array) {
    if (!type.arrayClass().isInstance(array)) {
      throw new IllegalArgumentException(
          "a " + array.getClass().getSimpleName() + " for elements of " + type);
    }
    return new ArrayEndpoint<>(type, type.arrayClass().cast(array));
  }

  /**
   * Returns the element type of an array: the type that the kernel declares, otherwise the type of
   * the array's class.
   */
  private static ElementType<?> type(KernelSource source, String name, Object array) {
    return StagePlan.declared(source).stream()
        .filter(parameter -> parameter.name().equals(name))
        .findFirst()
        .<ElementType<?>>map(KernelParameter::type)
        .orElseGet(() -> ElementType.ofArray(array.getClass()).orElseThrow());
  }
}
