package dev.tidepool;

import dev.tidepool.pooling.ArrayPool;
import dev.tidepool.pooling.ObjectPool;
import dev.tidepool.pooling.ObjectPoolOptions;
import dev.tidepool.transfer.PeerAccess;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.stream.Collectors;

/**
 * What stands behind the factories of this package; found with {@link ServiceLoader}. Programs have
 * no use for it.
 */
public interface TidepoolRuntime {
  /** What stands behind one {@link Tidepool}. */
  interface Session extends AutoCloseable {
    /** The accelerators, best first, the CPU last. */
    List<Accelerator> accelerators();

    /**
     * An accelerator by its id, the best of a kind ({@code opencl}), or the best for {@code auto}.
     *
     * @throws IllegalArgumentException if there is none of that id; the message lists those that
     *     are
     */
    default Accelerator accelerator(String id) {
      return find(id)
          .orElseThrow(
              () ->
                  new IllegalArgumentException(
                      "no accelerator '"
                          + id
                          + "'; this machine has "
                          + accelerators().stream()
                              .map(Accelerator::id)
                              .collect(Collectors.joining(", "))
                          + (notes().isEmpty()
                              ? "; a kind whose module (tidepool-opencl, tidepool-cuda) is not on"
                                  + " the path is not looked for"
                              : "; " + String.join("; ", notes()))));
    }

    /** The same, if there is one. */
    default Optional<Accelerator> find(String id) {
      return accelerators().stream()
          .filter(
              accelerator ->
                  id.equals("auto")
                      || accelerator.id().equals(id)
                      || accelerator.id().startsWith(id + ":"))
          .findFirst();
    }

    /** What is absent, and why. */
    List<String> notes();

    /** The manager of an accelerator of this session, made at the first call. */
    UnifiedMemoryManager memory(Accelerator accelerator);

    /** The orchestrator over all accelerators. */
    ComputeOrchestrator orchestrator();

    /** The ways between the accelerators. */
    PeerAccess peers();

    @Override
    void close();
  }

  /** Discovers accelerators. */
  Session open(MemoryOptions options);

  /** A manager on the best accelerator, with a session of its own that it closes. */
  UnifiedMemoryManager createManager(MemoryOptions options);

  /**
   * A manager on one accelerator, with a session of its own that it closes.
   *
   * @param accelerator an id, a kind, or {@code auto}; other drivers are not loaded
   * @throws IllegalArgumentException if there is none
   */
  UnifiedMemoryManager createManager(String accelerator, MemoryOptions options);

  /** A further manager on an accelerator of an open session. */
  UnifiedMemoryManager createManager(Accelerator accelerator, MemoryOptions options);

  /** An object pool, filled to its minimum. */
  <T> ObjectPool<T> createObjectPool(ObjectPoolOptions<T> options);

  /** A pool of arrays. */
  <A> ArrayPool<A> createArrayPool(
      ElementType<A> type, long maximumBytes, ArrayPool.Clearing clearing);

  /**
   * The runtime that is installed.
   *
   * @throws IllegalStateException if there is none: the library was repackaged without its services
   */
  static TidepoolRuntime installed() {
    return ServiceLoader.load(TidepoolRuntime.class, TidepoolRuntime.class.getClassLoader())
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "no dev.tidepool.TidepoolRuntime is registered: keep META-INF/services when"
                        + " repackaging tidepool-memory"));
  }
}
