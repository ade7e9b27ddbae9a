package dev.tidepool.runtime.report;

import dev.tidepool.MemoryStatistics;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.UnifiedMemoryMXBean;
import java.lang.System.Logger.Level;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A manager as consoles see it. The platform's MBean server holds the bean, and the bean holds the
 * manager weakly, so that a manager that was not closed can be collected. The bean throws only
 * exceptions whose classes a console has.
 */
public final class ManagementBean implements UnifiedMemoryMXBean {
  private static final boolean SERVER_PRESENT =
      ModuleLayer.boot().findModule("java.management").isPresent();

  private final String accelerator;
  private final WeakReference<UnifiedMemoryManager> memory;

  ManagementBean(UnifiedMemoryManager memory) {
    this.accelerator = memory.accelerator().id();
    this.memory = new WeakReference<>(memory);
  }

  /** Registers a manager. If that is impossible, logs a warning and returns null. */
  public static @Nullable AutoCloseable register(UnifiedMemoryManager memory) {
    if (!SERVER_PRESENT) {
      System.getLogger("dev.tidepool")
          .log(
              Level.WARNING,
              memory.accelerator().id()
                  + " has no management bean: this Java has no java.management; add the module");
      return null;
    }
    return MBeanRegistration.of(new ManagementBean(memory));
  }

  private UnifiedMemoryManager memory() {
    UnifiedMemoryManager present = memory.get();
    if (present == null) {
      throw new IllegalStateException(
          "the memory manager of "
              + accelerator
              + " is gone: it became unreachable before it was closed");
    }
    return present;
  }

  @Override
  public String getAccelerator() {
    return accelerator;
  }

  @Override
  public MemoryStatistics getStatistics() {
    return memory().statistics();
  }

  @Override
  public double getHitRate() {
    return getStatistics().hitRate();
  }

  @Override
  public long defragment() {
    return memory().defragment().returnedBytes();
  }

  @Override
  public long trim() {
    return memory().trimExcess();
  }

  @Override
  public void dump(String file) {
    try {
      memory().snapshot().writeTo(Path.of(file));
    } catch (TransferException e) {
      throw new IllegalArgumentException(e.getMessage(), null);
    }
  }
}
