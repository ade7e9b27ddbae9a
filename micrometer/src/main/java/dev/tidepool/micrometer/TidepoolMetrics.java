package dev.tidepool.micrometer;

import dev.tidepool.UnifiedMemoryManager;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The figures of memory managers as meters.
 *
 * {@snippet lang=java :
 * TidepoolMetrics metrics = new TidepoolMetrics();
 * metrics.bindTo(registry);
 * metrics.add(memory);
 * }
 *
 * <p>Meters of an accelerator that is not the processor have the names of OpenTelemetry: {@code
 * hw.gpu.memory.limit}, {@code hw.gpu.memory.usage}, {@code hw.gpu.memory.utilization} and {@code
 * hw.gpu.io}. All others begin with {@code tidepool.}, and each manager has its own. Tags are
 * {@code hw.id}, {@code hw.name} and {@code hw.type} of the accelerator, and {@code
 * tidepool.manager}, the name that the manager was added by.
 *
 * <p>A manager that is closed needs no call: its meters are removed from the registries when one of
 * them is next read, or the next manager is added. This class does not keep managers reachable.
 *
 * <p>Reading a meter never throws. Figures are taken at most ten times a second, so that all meters
 * of one scrape cost one question to the manager and fit together. What a lost device does not
 * answer is not a number (NaN); counters then stay what they were.
 *
 * <p>Safe for use by any thread.
 */
public final class TidepoolMetrics implements MeterBinder {
  private final LongSupplier nanoClock;
  // All guarded by this. No meter is read under the monitor.
  private final List<MeterRegistry> registries = new ArrayList<>();
  private final Map<String, ManagerMeters> managers = new HashMap<>();
  private final Map<String, DeviceMeters> devices = new HashMap<>();

  /** Without managers yet. */
  public TidepoolMetrics() {
    this(System::nanoTime);
  }

  TidepoolMetrics(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  /** Registers the meters of all managers, those that are added later too. */
  @Override
  public synchronized void bindTo(MeterRegistry registry) {
    Objects.requireNonNull(registry, "registry");
    if (!registries.contains(registry)) {
      registries.add(registry);
      managers.values().forEach(each -> each.register(registry));
      devices.values().forEach(each -> each.register(registry));
    }
  }

  /**
   * Adds a manager by the id of its accelerator, such as {@code cpu:0}; further managers of the
   * same accelerator are {@code cpu:0#2} and so on. Does nothing if the manager was added before.
   *
   * @throws IllegalStateException if the manager is closed
   */
  public void add(UnifiedMemoryManager manager) {
    add(manager, null);
  }

  /**
   * Adds a manager by a name of its own. Does nothing if the manager was added before.
   *
   * @param name the value of the tag {@code tidepool.manager}
   * @throws IllegalArgumentException if another open manager has the name
   * @throws IllegalStateException if the manager is closed
   */
  public void add(String name, UnifiedMemoryManager manager) {
    add(manager, Objects.requireNonNull(name, "name"));
  }

  private void add(UnifiedMemoryManager manager, @Nullable String name) {
    Sampler sampler = new Sampler(manager, nanoClock);
    removeClosed();
    synchronized (this) {
      if (managers.values().stream().anyMatch(each -> each.sampler().isOf(manager))) {
        return;
      }
      HardwareTags hardware = HardwareTags.of(manager.accelerator());
      String chosen = name == null ? freeName(hardware.id()) : name;
      if (managers.containsKey(chosen)) {
        throw new IllegalArgumentException(
            "a manager named '" + chosen + "' has meters already; give another name");
      }
      ManagerMeters meters = new ManagerMeters(chosen, hardware, sampler);
      managers.put(chosen, meters);
      registries.forEach(meters::register);
      if (hardware.isOffHost()) {
        devices.computeIfAbsent(hardware.id(), _ -> newDevice(hardware)).add(sampler);
      }
      sampler.whenClosed(() -> remove(meters));
    }
  }

  private DeviceMeters newDevice(HardwareTags hardware) {
    DeviceMeters meters = new DeviceMeters(hardware, nanoClock);
    registries.forEach(meters::register);
    return meters;
  }

  /** The id, or with the smallest number that no other has: names stay few. */
  private String freeName(String id) {
    String name = id;
    for (int i = 2; managers.containsKey(name); i++) {
      name = id + "#" + i;
    }
    return name;
  }

  /**
   * Removes the meters of a manager that is still open. Does nothing if it has none.
   *
   * @param manager which
   */
  public void remove(UnifiedMemoryManager manager) {
    present().stream().filter(each -> each.sampler().isOf(manager)).forEach(this::remove);
  }

  private void removeClosed() {
    present().forEach(each -> each.sampler().removeIfClosed());
  }

  private synchronized List<ManagerMeters> present() {
    return List.copyOf(managers.values());
  }

  private void remove(ManagerMeters meters) {
    DeviceMeters unused = null;
    synchronized (this) {
      if (!managers.remove(meters.name(), meters)) {
        return;
      }
      String id = meters.hardware().id();
      DeviceMeters device = devices.get(id);
      if (device != null && device.retire(meters.sampler())) {
        devices.remove(id);
        unused = device;
      }
    }
    meters.unregister();
    if (unused != null) {
      unused.unregister();
    }
  }
}
