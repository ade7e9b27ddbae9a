package dev.tidepool;

import dev.tidepool.transfer.PeerAccess;
import java.util.List;
import java.util.function.Predicate;

/**
 * All accelerators of this machine, a memory manager for each, and kernels by name.
 *
 * <p>The <i>best</i> accelerator is the first of {@link #accelerators()} that is more than this
 * machine's processor, and where there is none, {@code cpu:0}. Another driver of the processor,
 * such as PoCL, is never the best of all: name it, by its id or kind.
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
 * <p>Thread-safe. Closing it closes its managers.
 */
public final class Tidepool implements AutoCloseable {
  private final TidepoolRuntime.Session session;

  private Tidepool(TidepoolRuntime.Session session) {
    this.session = session;
  }

  /** Discovers the accelerators, with default options. */
  public static Tidepool open() {
    return open(MemoryOptions.defaults());
  }

  /**
   * Discovers the accelerators; the options hold for all managers.
   *
   * @throws IllegalArgumentException if the dump directory is no folder that can be written to
   * @throws TransferException if the file of a trace, or one in the spill directory, cannot be
   *     written
   */
  public static Tidepool open(MemoryOptions options) {
    return new Tidepool(TidepoolRuntime.installed().open(options));
  }

  /**
   * Discovers the accelerators of one kind, and the CPU, with default options.
   *
   * @param accelerator an id ({@code opencl:0}) or a kind ({@code opencl}), or {@code auto} for all
   *     that may be the best. No drivers of other kinds are loaded; {@code cpu:0} loads none
   * @throws IllegalArgumentException if there is none; the message lists those that exist
   */
  public static Tidepool open(String accelerator) {
    return open(accelerator, MemoryOptions.defaults());
  }

  /**
   * {@link #open(String)} with options, which hold for all managers.
   *
   * @throws IllegalArgumentException as {@link #open(String)} and {@link #open(MemoryOptions)}
   * @throws TransferException as {@link #open(MemoryOptions)}
   */
  public static Tidepool open(String accelerator, MemoryOptions options) {
    return new Tidepool(TidepoolRuntime.installed().open(accelerator, options));
  }

  /**
   * Returns the accelerators, best first: GPUs, other devices, processors under a driver such as
   * PoCL. The CPU, {@code cpu:0}, is always there, last.
   */
  public List<Accelerator> accelerators() {
    return session.accelerators();
  }

  /**
   * Returns an accelerator by its id, the best of a kind ({@code opencl}), or the best for {@code
   * auto}.
   *
   * @throws IllegalArgumentException if there is none of that id; the message lists those that
   *     exist
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

  /** Returns what was looked for and is absent, and why; for people to read. */
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

  /** Kernels by name, run where the data is. */
  public ComputeOrchestrator orchestrator() {
    return session.orchestrator();
  }

  /** Which accelerators copy straight from which. */
  public PeerAccess peers() {
    return session.peers();
  }

  /**
   * Closes all managers, then the accelerators. Operations that are under way on other threads end
   * first; a thread that calls this while another closes waits for it. Idempotent; throws nothing.
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
