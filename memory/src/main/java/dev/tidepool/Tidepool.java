package dev.tidepool;

import dev.tidepool.transfer.PeerAccess;
import java.util.List;
import java.util.function.Predicate;

/**
 * The accelerators of this machine, with a memory manager for each, and kernels by name.
 *
 * <p>The <i>best</i> accelerator is the first of {@link #accelerators()} that is not this machine's
 * processor; if there is none, it is {@code cpu:0}. Another driver of the processor, such as PoCL,
 * is never the best: select it by its id or kind.
 *
 * {@snippet :
 * try (Tidepool tidepool = Tidepool.open()) {
 *   for (Accelerator accelerator : tidepool.accelerators()) {
 *     System.out.println(accelerator.id() + ": " + accelerator.name());
 *   }
 *   UnifiedMemoryManager best = tidepool.memory();
 *   UnifiedMemoryManager cpu = tidepool.memory(tidepool.accelerator("cpu:0"));
 * }
 * }
 *
 * <p>Thread-safe. Closing a Tidepool closes its managers.
 */
public final class Tidepool implements AutoCloseable {
  private final TidepoolRuntime.Session session;

  private Tidepool(TidepoolRuntime.Session session) {
    this.session = session;
  }

  /** Discovers the accelerators of this machine, with default options. */
  public static Tidepool open() {
    return open(MemoryOptions.defaults());
  }

  /**
   * Discovers the accelerators of this machine. The options apply to all managers.
   *
   * @throws IllegalArgumentException if the dump directory is not a writable folder
   * @throws TransferException if the trace file, or a file in the spill directory, cannot be
   *     written
   */
  public static Tidepool open(MemoryOptions options) {
    return new Tidepool(TidepoolRuntime.installed().open(options));
  }

  /**
   * Discovers the accelerators of one kind, and the CPU, with default options.
   *
   * @param accelerator an id ({@code opencl:0}) or a kind ({@code opencl}), or {@code auto} for all
   *     accelerators that may be the best. No drivers of other kinds are loaded; {@code cpu:0}
   *     loads none
   * @throws IllegalArgumentException if there is no such accelerator; the message lists those that
   *     exist
   */
  public static Tidepool open(String accelerator) {
    return open(accelerator, MemoryOptions.defaults());
  }

  /**
   * Like {@link #open(String)}, with options for all managers.
   *
   * @throws IllegalArgumentException as {@link #open(String)} and {@link #open(MemoryOptions)}
   * @throws TransferException as {@link #open(MemoryOptions)}
   */
  public static Tidepool open(String accelerator, MemoryOptions options) {
    return new Tidepool(TidepoolRuntime.installed().open(accelerator, options));
  }

  /**
   * Returns the accelerators, best first: GPUs, other devices, processors under a driver such as
   * PoCL. The last is always {@code cpu:0}.
   */
  public List<Accelerator> accelerators() {
    return session.accelerators();
  }

  /**
   * Returns an accelerator by its id, the best of a kind ({@code opencl}), or the best for {@code
   * auto}.
   *
   * @throws IllegalArgumentException if there is none; the message lists those that exist
   */
  public Accelerator accelerator(String id) {
    return session.accelerator(id);
  }

  /**
   * Returns the best accelerator that satisfies a condition.
   *
   * {@snippet :
   * Accelerator gpu = tidepool.accelerator(each -> each.kind() == AcceleratorKind.GPU);
   * }
   *
   * @throws IllegalArgumentException if there is none; the message lists those that exist
   */
  public Accelerator accelerator(Predicate<? super Accelerator> condition) {
    return session.accelerator(condition);
  }

  /** Returns notes for users about absent drivers, with the reasons. */
  public List<String> notes() {
    return session.notes();
  }

  /** Returns the manager of the best accelerator. */
  public UnifiedMemoryManager memory() {
    return session.memory(session.accelerator("auto"));
  }

  /**
   * Returns the manager of an accelerator.
   *
   * @throws IllegalArgumentException if the accelerator is of another Tidepool
   */
  public UnifiedMemoryManager memory(Accelerator accelerator) {
    return session.memory(accelerator);
  }

  /** Returns the orchestrator, which runs kernels by name where their data is. */
  public ComputeOrchestrator orchestrator() {
    return session.orchestrator();
  }

  /** Returns the direct connections between accelerators. */
  public PeerAccess peers() {
    return session.peers();
  }

  /**
   * Closes all managers, then the accelerators. Waits for running operations of other threads. A
   * second thread that calls this method waits for the first. Idempotent; throws nothing.
   */
  @Override
  public void close() {
    session.close();
  }

  @Override
  public String toString() {
    return "Tidepool " + accelerators();
  }
}
