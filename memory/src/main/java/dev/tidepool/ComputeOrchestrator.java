package dev.tidepool;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Runs kernels by name on the accelerator that suits best. Thread-safe.
 *
 * {@snippet :
 * float[] x = {1, 2, 3};
 * float[] y = {10, 20, 30};
 * tidepool.orchestrator().register("saxpy", KernelSource.elementwise("y = a * x + y"));
 * tidepool.orchestrator().execute("saxpy", Arguments.of("a", 2f, "x", x, "y", y));
 * }
 */
public interface ComputeOrchestrator {
  /**
   * Registers a kernel under a name. Several sources are alternatives: an accelerator runs the
   * first that it supports.
   *
   * @throws IllegalArgumentException if the name is taken or there is no source
   * @throws KernelCompilationException if an elementwise source is wrong
   */
  void register(String name, KernelSource... sources);

  /**
   * Registers every method of a class that has {@link KernelMethod}, under its name.
   *
   * @throws IllegalArgumentException if the class has no such method, two methods have the same
   *     name, or a name is taken; nothing is registered then
   */
  default void register(Class<?> kernels) {
    Map<String, KernelSource.Method> methods = KernelSource.methods(kernels);
    for (String name : methods.keySet()) {
      if (names().contains(name)) {
        throw new IllegalArgumentException(
            "a kernel is called '" + name + "' already; rename the method of " + kernels.getName());
      }
    }
    methods.forEach(this::register);
  }

  /** Returns the registered names. */
  Set<String> names();

  /**
   * Runs a kernel on the accelerator that has the most bytes of its buffers, and waits for its end.
   * Buffers of another {@link Tidepool} do not count: like arrays, they are copied in and back.
   *
   * <p>Arguments may be paths of {@code .npy} files of any size, or {@link RawFile}s, which are
   * streamed. A file that is read must exist. A file that is written must not exist, and appears
   * completely or not at all. A file that is both read and written is replaced at the end. The
   * kernel then runs over one item for each element, chunk by chunk.
   *
   * @throws UnsupportedOperationException if none of the sources runs on the accelerator that has
   *     the most bytes, or, without buffers, on any
   * @throws TransferException if a file cannot be read or written
   */
  void execute(String name, Arguments arguments);

  /**
   * Runs a kernel with options, and waits for its end. With a {@linkplain
   * ExecutionOptions#withChunkBytes size of chunks} or a {@linkplain
   * ExecutionOptions#withMemoryLimit memory limit}, arrays and buffers are streamed as files are.
   *
   * @throws IllegalArgumentException if the name or the accelerator does not exist; the message
   *     lists those that do
   * @throws UnsupportedOperationException if none of the sources runs on the accelerator that the
   *     options name, or on the one that has the buffers
   */
  void execute(String name, Arguments arguments, ExecutionOptions options);

  /** Like {@link #execute(String, Arguments)}, in the background. */
  CompletableFuture<Void> executeAsync(String name, Arguments arguments);

  /** Like {@link #execute(String, Arguments, ExecutionOptions)}, in the background. */
  CompletableFuture<Void> executeAsync(String name, Arguments arguments, ExecutionOptions options);
}
