package dev.tidepool;

import dev.tidepool.transfer.PeerAccess;
import java.util.List;

/**
 * All accelerators of this machine, a memory manager for each, and kernels by name.
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
 * <p>Safe for use by any thread. Closing it closes its managers.
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

  /** Discovers the accelerators; the options hold for all managers. */
  public static Tidepool open(MemoryOptions options) {
    return new Tidepool(TidepoolRuntime.installed().open(options));
  }

  /** The accelerators, best first; the CPU is always there, last. */
  public List<Accelerator> accelerators() {
    return session.accelerators();
  }

  /**
   * An accelerator by its id, the best of a kind ({@code opencl}), or the best for {@code auto}.
   *
   * @throws IllegalArgumentException if there is none of that id; the message lists those that are
   */
  public Accelerator accelerator(String id) {
    return session.accelerator(id);
  }

  /** What was looked for and is absent, and why; for people to read. */
  public List<String> notes() {
    return session.notes();
  }

  /** The manager of the best accelerator. */
  public UnifiedMemoryManager memory() {
    return session.memory(accelerators().getFirst());
  }

  /**
   * The manager of an accelerator.
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
