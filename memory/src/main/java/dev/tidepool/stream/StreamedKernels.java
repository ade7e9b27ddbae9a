package dev.tidepool.stream;

import dev.tidepool.Arguments;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.kernel.FileKernels;
import java.nio.file.Path;
import java.util.Map;

/** Runs kernels over files by a {@link Pipeline} of one stage. */
public final class StreamedKernels implements FileKernels {
  /** For {@link java.util.ServiceLoader}. */
  public StreamedKernels() {}

  @Override
  public void execute(KernelSource source, Arguments arguments, UnifiedMemoryManager memory) {
    Map<String, KernelParameter.Access> accesses = StagePlan.accesses(source);
    Pipeline pipeline = Pipeline.empty().through(source).on(memory);
    arguments
        .values()
        .forEach(
            (name, value) -> {
              KernelParameter.Access access = accesses.get(name);
              if (access == null) {
                throw new IllegalArgumentException(
                    "the kernel has no '" + name + "'; it has " + accesses.keySet());
              }
              bind(pipeline, name, access, value);
            });
    pipeline.run(StreamOptions.defaults());
  }

  private static void bind(
      Pipeline pipeline, String name, KernelParameter.Access access, Object value) {
    switch (value) {
      case Path file -> {
        if (access.reads()) {
          pipeline.and(name, file);
        }
        if (access == KernelParameter.Access.INOUT) {
          pipeline.replacing(name, file);
        } else if (access.writes()) {
          pipeline.to(name, file);
        }
      }
      case UnifiedBuffer<?> buffer -> {
        if (access.reads()) {
          pipeline.and(name, buffer);
        }
        if (access.writes()) {
          pipeline.to(name, buffer);
        }
      }
      case Number number -> pipeline.with(name, number);
      case Boolean truth -> pipeline.with(name, truth);
      default ->
          throw new IllegalArgumentException(
              "'" + name + "' is a Java array beside a file; pass a buffer or a file");
    }
  }
}
