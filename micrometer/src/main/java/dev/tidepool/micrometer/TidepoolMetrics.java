package dev.tidepool.micrometer;

import dev.tidepool.UnifiedMemoryManager;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
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
 * tidepool.manager}, the name under which the manager was added.
 *
 * <p>The meters of a closed manager are removed from the registries within a second, without a
 * call. This class does not keep managers reachable. Call {@link #close} if the registries end
 * before the managers. Bind only one object of this class to a registry, because the managers of a
 * second one would have the same names.
 *
 * <p>Reading a meter never throws, never waits and calls no driver. A daemon thread reads the
 * figures once a second while there are managers, so they are at most a second old. A scrape at
 * that moment may return older and newer figures together. Gauges of a lost device are not a number
 * (NaN), and its counters keep their values.
 *
 * <p>Safe for use by any thread.
 */
public final class TidepoolMetrics implements MeterBinder, AutoCloseable {
  private static final Duration PERIOD = Duration.ofSeconds(1);

  // All guarded by this. Managers and drivers are called without it.
  private final List<MeterRegistry> registries = new ArrayList<>();
  private final Map<String, ManagerMeters> managers = new HashMap<>();
  private final Map<String, DeviceMeters> devices = new HashMap<>();
  private boolean isSampling;

  /** Registers the meters of all managers, including those added later. */
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
   * Adds a manager under its accelerator's id, such as {@code cpu:0}. Further managers of the same
   * accelerator are named {@code cpu:0#2} and so on. Does nothing if the manager was added before.
   *
   * @throws IllegalStateException if the manager is closed
   */
  public void add(UnifiedMemoryManager manager) {
    add(manager, null);
  }

  /**
   * Adds a manager under a given name. Does nothing if the manager was added before.
   *
   * @param name the value of the tag {@code tidepool.manager}
   * @throws IllegalArgumentException if another open manager has the name
   * @throws IllegalStateException if the manager is closed
   */
  public void add(String name, UnifiedMemoryManager manager) {
    add(manager, Objects.requireNonNull(name, "name"));
  }

  private void add(UnifiedMemoryManager manager, @Nullable String name) {
    Sampler sampler = new Sampler(manager);
    // Removes closed managers, which makes their names free.
    sample();
    DeviceMeters device = null;
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
        device = devices.computeIfAbsent(hardware.id(), _ -> newDevice(hardware));
        device.add(sampler);
      }
      if (!isSampling) {
        isSampling = true;
        Thread.ofPlatform().daemon().name("tidepool-metrics").start(this::sampleRegularly);
      }
    }
    if (device != null) {
      device.refresh();
    }
  }

  private void sampleRegularly() {
    try {
      do {
        Thread.sleep(PERIOD);
        sample();
      } while (hasManagers());
    } catch (InterruptedException e) {
      // Unexpected: no other code has a reference to this thread. The thread ends.
      Thread.currentThread().interrupt();
    }
  }

  /** Returns whether managers are left; if not, the thread ends until one is added. */
  private synchronized boolean hasManagers() {
    isSampling = !managers.isEmpty();
    return isSampling;
  }

  /** Reads all figures now, and removes the meters of closed managers. */
  void sample() {
    List<ManagerMeters> present;
    List<DeviceMeters> onDevices;
    synchronized (this) {
      present = List.copyOf(managers.values());
      onDevices = List.copyOf(devices.values());
    }
    for (ManagerMeters each : present) {
      if (!each.sampler().refresh()) {
        remove(each);
      }
    }
    onDevices.forEach(DeviceMeters::refresh);
  }

  private DeviceMeters newDevice(HardwareTags hardware) {
    DeviceMeters meters = new DeviceMeters(hardware);
    registries.forEach(meters::register);
    return meters;
  }

  /** Returns the id, or the id with the smallest free number, so that few names are used. */
  private String freeName(String id) {
    String name = id;
    for (int i = 2; managers.containsKey(name); i++) {
      name = id + "#" + i;
    }
    return name;
  }

  /**
   * Removes the meters of an open manager. Does nothing if it has none.
   *
   * @param manager the manager
   */
  public void remove(UnifiedMemoryManager manager) {
    List<ManagerMeters> present;
    synchronized (this) {
      present = List.copyOf(managers.values());
    }
    present.stream().filter(each -> each.sampler().isOf(manager)).forEach(this::remove);
  }

  /**
   * Removes all meters, managers and registries from this object. The managers stay open. Managers
   * and registries may be added again.
   */
  @Override
  public synchronized void close() {
    List.copyOf(managers.values()).forEach(this::remove);
    registries.clear();
  }

  private synchronized void remove(ManagerMeters meters) {
    if (managers.get(meters.name()) != meters) {
      return;
    }
    // First, because a registry would give these meters to the next manager of the name.
    meters.unregister();
    managers.remove(meters.name(), meters);
    String id = meters.hardware().id();
    DeviceMeters device = devices.get(id);
    if (device != null && device.retire(meters.sampler())) {
      device.unregister();
      devices.remove(id, device);
    }
  }
}
