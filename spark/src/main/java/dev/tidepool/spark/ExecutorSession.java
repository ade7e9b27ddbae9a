package dev.tidepool.spark;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorException;
import dev.tidepool.Tidepool;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedMemoryManager;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.resource.ResourceInformation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The {@code Tidepool} of this process's executor. In local mode, the driver's process contains it.
 *
 * <p>Spark starts and stops the session on its own threads; tasks use it on theirs. A task that
 * still runs when Spark stops the session gets an {@link IllegalStateException} at its next use.
 */
final class ExecutorSession {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorSession.class);
  private static final AtomicReference<@Nullable ExecutorSession> CURRENT = new AtomicReference<>();

  private final Settings settings;
  private final String executor;
  private final Map<String, ResourceInformation> resources;
  private final Tidepool tidepool;
  private final BufferHolders holders = new BufferHolders();

  /** Accelerators that a task has used. */
  private final Set<Accelerator> used = ConcurrentHashMap.newKeySet();

  /** Accelerators that were lost. Their drivers no longer work in this process. */
  private final Set<Accelerator> lost = ConcurrentHashMap.newKeySet();

  private ExecutorSession(PluginContext plugin) {
    this.settings = Settings.of(plugin.conf());
    this.executor = "executor " + plugin.executorID();
    this.resources = Map.copyOf(plugin.resources());
    this.tidepool = Tidepool.open(settings.options());
  }

  static void start(PluginContext plugin) {
    CURRENT.set(new ExecutorSession(plugin));
  }

  static void stop() {
    ExecutorSession ended = CURRENT.getAndSet(null);
    if (ended != null) {
      ended.tidepool().close();
    }
  }

  /**
   * Returns the session of this executor.
   *
   * @throws IllegalStateException if the plugin does not run here
   */
  static ExecutorSession current() {
    ExecutorSession session = CURRENT.get();
    if (session == null) {
      throw new IllegalStateException(
          "this executor has no Tidepool; start the application with spark.plugins="
              + TidepoolPlugin.class.getName());
    }
    return session;
  }

  /** Returns the {@code Tidepool} with all accelerators of this executor. */
  Tidepool tidepool() {
    return tidepool;
  }

  /** Returns the kernels that have buffers. */
  BufferHolders holders() {
    return holders;
  }

  /** Returns the bytes of a partition that are computed at once, if set. */
  OptionalLong chunkBytes() {
    return settings.chunkBytes();
  }

  /**
   * Returns the manager of a task's accelerator.
   *
   * @throws IllegalStateException if the accelerator is absent or was lost; the message names it
   *     and, if absent, those that are present
   */
  UnifiedMemoryManager memory(TaskContext task) {
    Accelerator accelerator;
    try {
      accelerator = DeviceChoice.choose(tidepool, settings, address(task));
    } catch (IllegalStateException e) {
      throw new IllegalStateException(executor + ": " + e.getMessage(), e);
    }
    if (lost.contains(accelerator)) {
      throw new IllegalStateException(
          executor
              + ": the device "
              + shown(accelerator)
              + " was lost in an earlier task, and only a new executor opens it again. With"
              + " spark.excludeOnFailure.enabled=true Spark tries the task on another executor");
    }
    if (used.add(accelerator)) {
      LOG.info("Kernels run on {}", shown(accelerator));
    }
    return tidepool.memory(accelerator);
  }

  private static String shown(Accelerator accelerator) {
    return accelerator.id() + " (" + accelerator.name() + ")";
  }

  /** Records the accelerator as lost if an error says so, so that later tasks do not try it. */
  void failed(Accelerator accelerator, TidepoolException error) {
    for (Throwable each = error; each != null; each = each.getCause()) {
      if (each instanceof AcceleratorException failure
          && failure.kind() == AcceleratorException.Kind.DEVICE_LOST) {
        lost.add(accelerator);
      }
    }
  }

  /**
   * Returns the address of the task's device; partitions share devices that only the executor has.
   */
  private Optional<String> address(TaskContext task) {
    ResourceInformation own = task.resourcesJMap().get(settings.resource());
    ResourceInformation shared = resources.get(settings.resource());
    if (own != null && own.addresses().length > 0) {
      return Optional.of(own.addresses()[0]);
    }
    return shared == null || shared.addresses().length == 0
        ? Optional.empty()
        : Optional.of(shared.addresses()[task.partitionId() % shared.addresses().length]);
  }
}
