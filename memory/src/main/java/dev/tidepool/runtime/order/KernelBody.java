package dev.tidepool.runtime.order;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.cpu.LaunchScope;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A Java kernel whose body the calling thread computes. The body may wait for any operation except
 * those behind its own kernel: that wait would never end, so it is refused.
 *
 * @param outer the kernel whose body launched this one and waits for it
 */
public record KernelBody(
    OrderedOperation operation,
    ResourceContext context,
    List<KernelParameter> parameters,
    @Nullable KernelBody outer) {

  /** Launches a kernel. The threads that compute a Java kernel can find its operation. */
  public static void launch(
      KernelSource source,
      List<KernelParameter> parameters,
      ResourceContext context,
      OrderedOperation operation,
      Runnable launch) {
    if (source instanceof KernelSource.Java) {
      LaunchScope.run(new KernelBody(operation, context, parameters, current()), launch);
    } else {
      launch.run();
    }
  }

  private static @Nullable KernelBody current() {
    return LaunchScope.owner() instanceof KernelBody body ? body : null;
  }

  /**
   * Checks that the calling thread may wait for an operation.
   *
   * @throws IllegalStateException if the thread computes the body of a kernel that is this
   *     operation, or that the operation is behind
   */
  static void checkMayAwait(OrderedOperation awaited) {
    KernelBody body = bodyBefore(awaited);
    if (body != null) {
      String what =
          awaited
              .storageSharedWith(body.operation)
              .map(storage -> "work on " + storage)
              .orElse("work");
      throw new IllegalStateException(
          "the body of "
              + body
              + " would wait for itself: "
              + what
              + " comes after the kernel; wait for that outside of the body");
    }
  }

  /** Returns whether the calling thread may wait for an operation; see {@link #checkMayAwait}. */
  public static boolean mayAwait(OrderedOperation awaited) {
    return bodyBefore(awaited) == null;
  }

  /** Returns a body that the calling thread computes and an operation waits for; null if none. */
  private static @Nullable KernelBody bodyBefore(OrderedOperation awaited) {
    for (KernelBody body = current(); body != null; body = body.outer) {
      if (awaited.isOrComesAfter(body.operation)) {
        return body;
      }
    }
    return null;
  }

  /**
   * Checks that the calling thread may wait for all operations of a manager.
   *
   * @param all returns the operations of the manager that have not ended
   * @param what the name of the method that waits, for the message
   * @throws IllegalStateException if the thread computes the body of a kernel of the manager, or of
   *     one that an operation of the manager is behind
   */
  public static void checkMayAwaitAll(
      ResourceContext context, Supplier<Stream<OrderedOperation>> all, String what) {
    for (KernelBody body = current(); body != null; body = body.outer) {
      OrderedOperation own = body.operation;
      if (body.context.equals(context)
          || all.get().anyMatch(unfinished -> unfinished.isOrComesAfter(own))) {
        throw new IllegalStateException(
            "the body of "
                + body
                + " would wait for itself: "
                + what
                + " waits for the kernel; call it outside of the body");
      }
    }
  }

  @Override
  public String toString() {
    return "the Java kernel with the parameters "
        + parameters.stream().map(KernelParameter::name).collect(Collectors.joining(", ", "(", ")"))
        + " of "
        + context.id();
  }
}
