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
 * What one test works with: a manager of its own on the accelerator, and the buffers that it asked
 * for, which end with it. Used by the test's thread.
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
   * @param opener opens a Tidepool like the given one, for tests that close it
   * @param noCompiler why tests leave out the kernels of an accelerator; empty if they do not
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

  /** The accelerator that the suite is about. */
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

  /** Returns a Tidepool of the test's own. */
  public Tidepool openTidepool() {
    Tidepool another = opener.get();
    opened.add(another::close);
    return another;
  }

  /** Returns a further manager on an accelerator, with options. */
  public UnifiedMemoryManager manager(Accelerator where, MemoryOptions options) {
    UnifiedMemoryManager manager = UnifiedMemoryManager.create(where, options);
    opened.add(manager::close);
    return manager;
  }

  /** Managers that others own the memory of: of this accelerator again, and of each other one. */
  public List<UnifiedMemoryManager> otherManagers() {
    return tidepool.accelerators().stream()
        .map(other -> manager(other, MemoryOptions.defaults()))
        .toList();
  }

  /** Ends a buffer with the test. */
  public <A> UnifiedBuffer<A> owned(UnifiedBuffer<A> buffer) {
    opened.add(buffer::close);
    return buffer;
  }

  /** Returns a buffer that ends with the test. */
  public <A> UnifiedBuffer<A> buffer(ElementType<A> type, long length, MemoryLocation location) {
    return owned(memory.allocate(type, length, location));
  }

  /** Returns a buffer that ends with the test. */
  public <A> UnifiedBuffer<A> buffer(ElementType<A> type, long length, Allocation allocation) {
    return owned(memory.allocate(type, length, allocation));
  }

  /** Returns a buffer with a pattern in it. */
  public <A> UnifiedBuffer<A> patterned(
      ElementType<A> type, int length, MemoryLocation location, long seed) {
    UnifiedBuffer<A> buffer = buffer(type, length, location);
    buffer.copyFrom(Patterns.array(type, length, seed));
    return buffer;
  }

  /**
   * Returns an elementwise kernel of the test's manager; where nothing compiles it, a skipped test.
   */
  public Kernel kernel(String expression) {
    assumeCompiler();
    return memory.compile(KernelSource.elementwise(expression));
  }

  /** Skips the test where nothing compiles kernels. */
  public void assumeCompiler() {
    Optional<String> none = noCompiler.apply(accelerator);
    assumeTrue(none.isEmpty(), () -> "no compiler: " + none.orElse(""));
  }

  /** Returns whether tests may run kernels of an accelerator. */
  public boolean hasCompiler(Accelerator where) {
    return noCompiler.apply(where).isEmpty();
  }

  /** Returns what this manager moved so far. */
  public TransferStatistics moved() {
    return memory.transfers().statistics();
  }

  /** Returns whether the accelerator can do that. */
  public boolean can(Capability capability) {
    return accelerator.capabilities().contains(capability);
  }

  /** Returns whether there is one copy of everything. */
  public boolean sharesMemory() {
    return can(Capability.SHARED_MEMORY);
  }

  /** Returns true if UNIFIED buffers are available. */
  public boolean hasUnified() {
    return can(Capability.UNIFIED_MEMORY) || sharesMemory();
  }

  /** Returns the locations that the accelerator serves. */
  public Set<MemoryLocation> locations() {
    Set<MemoryLocation> locations = EnumSet.allOf(MemoryLocation.class);
    if (!hasUnified()) {
      locations.remove(MemoryLocation.UNIFIED);
    }
    return locations;
  }

  /**
   * Returns whether a buffer allocated there has one copy only, so that nothing is ever transferred
   * for it.
   */
  public boolean hasOneCopy(MemoryLocation location) {
    return sharesMemory() || location == MemoryLocation.UNIFIED;
  }

  /** Ends what the test opened, last first, and the manager. */
  @Override
  public void close() {
    opened.reversed().forEach(Runnable::run);
    opened.clear();
    memory.close();
  }
}
