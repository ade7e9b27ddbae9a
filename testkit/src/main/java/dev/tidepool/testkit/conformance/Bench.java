package dev.tidepool.testkit.conformance;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Accelerator;
import dev.tidepool.Allocation;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferStatistics;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The resources of one test: its own manager on the accelerator, and buffers, which are closed with
 * the bench. Used by the test's thread.
 */
public final class Bench implements AutoCloseable {
  private final Supplier<Tidepool> opener;
  private final Tidepool tidepool;
  private final Accelerator accelerator;
  private final UnifiedMemoryManager memory;
  private final Function<Accelerator, Optional<String>> noCompiler;
  private final List<Runnable> opened = new ArrayList<>();

  /**
   * Creates a bench with a fresh manager.
   *
   * @param opener opens a Tidepool like the given one, for tests that close theirs
   * @param noCompiler returns why tests omit kernels on an accelerator; empty if they do not
   */
  public Bench(
      Supplier<Tidepool> opener,
      Tidepool tidepool,
      Accelerator accelerator,
      Function<Accelerator, Optional<String>> noCompiler) {
    this.opener = opener;
    this.noCompiler = noCompiler;
    this.tidepool = tidepool;
    this.accelerator = accelerator;
    memory = UnifiedMemoryManager.create(accelerator, MemoryOptions.defaults());
  }

  /** Returns the tested accelerator. */
  public Accelerator accelerator() {
    return accelerator;
  }

  /** Returns the Tidepool that all tests of the suite share. */
  public Tidepool tidepool() {
    return tidepool;
  }

  /** Returns the test's manager. */
  public UnifiedMemoryManager memory() {
    return memory;
  }

  /** Returns a Tidepool for this test alone. */
  public Tidepool openTidepool() {
    Tidepool another = opener.get();
    opened.add(another::close);
    return another;
  }

  /** Returns another manager of an accelerator, with options. */
  public UnifiedMemoryManager manager(Accelerator where, MemoryOptions options) {
    UnifiedMemoryManager manager = UnifiedMemoryManager.create(where, options);
    opened.add(manager::close);
    return manager;
  }

  /** Returns new managers, one for each accelerator, including the tested one. */
  public List<UnifiedMemoryManager> otherManagers() {
    return tidepool.accelerators().stream()
        .map(other -> manager(other, MemoryOptions.defaults()))
        .toList();
  }

  /** Closes a buffer at the end of the test. */
  public <A> UnifiedBuffer<A> owned(UnifiedBuffer<A> buffer) {
    opened.add(buffer::close);
    return buffer;
  }

  /** Returns a buffer that is closed at the end of the test. */
  public <A> UnifiedBuffer<A> buffer(ElementType<A> type, long length, MemoryLocation location) {
    return owned(memory.allocate(type, length, location));
  }

  /** Returns a buffer that is closed at the end of the test. */
  public <A> UnifiedBuffer<A> buffer(ElementType<A> type, long length, Allocation allocation) {
    return owned(memory.allocate(type, length, allocation));
  }

  /** Returns a buffer filled with a pattern. */
  public <A> UnifiedBuffer<A> patterned(
      ElementType<A> type, int length, MemoryLocation location, long seed) {
    UnifiedBuffer<A> buffer = buffer(type, length, location);
    buffer.copyFrom(Patterns.array(type, length, seed));
    return buffer;
  }

  /**
   * Returns an elementwise kernel of the test's manager; skips the test if there is no compiler.
   */
  public Kernel kernel(String expression) {
    assumeCompiler();
    return memory.compile(KernelSource.elementwise(expression));
  }

  /** Skips the test if there is no compiler. */
  public void assumeCompiler() {
    Optional<String> none = noCompiler.apply(accelerator);
    assumeTrue(none.isEmpty(), () -> "no compiler: " + none.orElse(""));
  }

  /** Returns whether tests may run kernels of an accelerator. */
  public boolean hasCompiler(Accelerator where) {
    return noCompiler.apply(where).isEmpty();
  }

  /** Returns the transfers of the test's manager so far. */
  public TransferStatistics moved() {
    return memory.transfers().statistics();
  }

  /** Returns whether the accelerator has a capability. */
  public boolean can(Capability capability) {
    return accelerator.capabilities().contains(capability);
  }

  /** Returns whether host and device share all memory. */
  public boolean sharesMemory() {
    return can(Capability.SHARED_MEMORY);
  }

  /** Returns true if UNIFIED buffers are available. */
  public boolean hasUnified() {
    return can(Capability.UNIFIED_MEMORY) || sharesMemory();
  }

  /** Returns the locations that the accelerator supports. */
  public Set<MemoryLocation> locations() {
    Set<MemoryLocation> locations = EnumSet.allOf(MemoryLocation.class);
    if (!hasUnified()) {
      locations.remove(MemoryLocation.UNIFIED);
    }
    return locations;
  }

  /** Returns whether a buffer at a location has only one copy, so that it is never transferred. */
  public boolean hasOneCopy(MemoryLocation location) {
    return sharesMemory() || location == MemoryLocation.UNIFIED;
  }

  /** Closes everything that the test opened, in reverse order, and the manager. */
  @Override
  public void close() {
    opened.reversed().forEach(Runnable::run);
    opened.clear();
    memory.close();
  }
}
