package dev.tidepool;

import dev.tidepool.pooling.ArrayPool;
import dev.tidepool.pooling.ObjectPool;
import dev.tidepool.pooling.ObjectPoolOptions;
import dev.tidepool.transfer.PeerAccess;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The implementation behind the factories of this package, found with {@link ServiceLoader}. Not
 * for use by programs.
 */
public interface TidepoolRuntime {
  /** The implementation behind one {@link Tidepool}. */
  interface Session extends AutoCloseable {
    /** Returns the accelerators in the order of {@link Tidepool#accelerators()}. */
    List<Accelerator> accelerators();

    /**
     * Returns the accelerators in the order of preference: devices that are not this machine's
     * processor, then {@code cpu:0}, then other drivers of the processor.
     */
    default List<Accelerator> byPreference() {
      Accelerator cpu = accelerators().getLast();
      return accelerators().stream()
          .sorted(
              Comparator.comparingInt(
                  each -> each.kind() != AcceleratorKind.CPU ? 0 : each.equals(cpu) ? 1 : 2))
          .toList();
    }

    /**
     * Returns an accelerator by its id, the best of a kind ({@code opencl}), or the best for {@code
     * auto}.
     *
     * @throws IllegalArgumentException if there is none; the message lists those that exist
     */
    default Accelerator accelerator(String id) {
      return find(id)
          .orElseThrow(
              () -> absent("no accelerator '" + id + "'", " (write an id, its kind, or auto)"));
    }

    /** Like {@link #accelerator}, but returns empty if there is none. */
    default Optional<Accelerator> find(String id) {
      return byPreference().stream()
          .filter(
              accelerator ->
                  id.equals("auto")
                      || accelerator.id().equals(id)
                      || accelerator.id().startsWith(id + ":"))
          .findFirst();
    }

    /**
     * Returns the best accelerator that satisfies a condition.
     *
     * @throws IllegalArgumentException if there is none; the message lists those that exist
     */
    default Accelerator accelerator(Predicate<? super Accelerator> condition) {
      return byPreference().stream()
          .filter(condition)
          .findFirst()
          .orElseThrow(() -> absent("no accelerator satisfies the condition", ""));
    }

    private IllegalArgumentException absent(String what, String names) {
      return new IllegalArgumentException(
          what
              + "; this machine has "
              + accelerators().stream().map(Accelerator::id).collect(Collectors.joining(", "))
              + names
              + (notes().isEmpty()
                  ? "; a kind whose module (tidepool-opencl, tidepool-cuda, tidepool-metal) is not"
                      + " on the path is not looked for, nor one whose META-INF/services was lost"
                      + " when one jar was made of several, nor one that Tidepool.open(name) did"
                      + " not name"
                  : "; " + String.join("; ", notes())));
    }

    /** Returns notes about drivers that are absent, with the reasons. */
    List<String> notes();

    /** Returns the manager of an accelerator of this session, created at the first call. */
    UnifiedMemoryManager memory(Accelerator accelerator);

    /** Returns the orchestrator over all accelerators. */
    ComputeOrchestrator orchestrator();

    /** Returns the direct connections between the accelerators. */
    PeerAccess peers();

    @Override
    void close();
  }

  /** Discovers accelerators of all kinds. */
  Session open(MemoryOptions options);

  /** Discovers the accelerators that a name may select, as {@link Tidepool#open(String)} says. */
  Session open(String accelerator, MemoryOptions options);

  /**
   * Returns a manager on one accelerator, with its own session, which it closes.
   *
   * @param accelerator an id, a kind, or {@code auto}; drivers of other kinds are not loaded
   * @throws IllegalArgumentException if there is none
   */
  UnifiedMemoryManager createManager(String accelerator, MemoryOptions options);

  /**
   * Returns a manager on the best accelerator that satisfies a condition, with its own session,
   * which it closes.
   *
   * @throws IllegalArgumentException if there is none
   */
  UnifiedMemoryManager createManager(
      Predicate<? super Accelerator> condition, MemoryOptions options);

  /** Returns an additional manager on an accelerator of an open session. */
  UnifiedMemoryManager createManager(Accelerator accelerator, MemoryOptions options);

  /** Returns an object pool that contains its minimum of objects. */
  <T> ObjectPool<T> createObjectPool(ObjectPoolOptions<T> options);

  /** Returns a pool of arrays. */
  <A> ArrayPool<A> createArrayPool(
      ElementType<A> type, long maximumBytes, ArrayPool.Clearing clearing);

  /**
   * Returns the installed runtime.
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
