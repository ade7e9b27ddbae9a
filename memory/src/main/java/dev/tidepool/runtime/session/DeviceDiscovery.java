package dev.tidepool.runtime.session;

import dev.tidepool.AcceleratorKind;
import dev.tidepool.MemoryOptions;
import dev.tidepool.cpu.CpuDevice;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceOptions;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.support.Closing;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.function.Predicate;

/**
 * Opens the devices of a session: those of the providers, the best kind first, then the CPU. Used
 * by one thread.
 */
final class DeviceDiscovery {
  private final List<Device> devices = new ArrayList<>();
  private final List<String> notes = new ArrayList<>();

  /** Returns the opened devices. The CPU is the last. */
  List<Device> devices() {
    return devices;
  }

  /** Returns notes for users about providers, as in {@link Discovery#notes}. */
  List<String> notes() {
    return notes;
  }

  /** Opens the devices that providers find, and the CPU. If a provider fails, adds a note. */
  void run(MemoryOptions options, Predicate<AcceleratorProvider> asked) {
    for (AcceleratorProvider provider : Discovery.chosenOr(this::installed)) {
      try {
        if (!asked.test(provider)) {
          continue;
        }
        Discovery found =
            provider.discover(
                new DeviceOptions(options.managedMemory(), options.zeroCopyBuffers()));
        add(found.devices());
        notes.addAll(found.notes());
      } catch (RuntimeException | LinkageError e) {
        notes.add(provider.name() + ": discovery failed: " + e);
      }
    }
    devices.sort((a, b) -> Integer.compare(rank(a.info().kind()), rank(b.info().kind())));
    devices.add(new CpuDevice());
  }

  private void add(List<Device> found) {
    try {
      devices.addAll(found);
    } catch (OutOfMemoryError e) {
      close(found);
      throw e;
    }
  }

  /** Closes the devices, because no session owns them. */
  void closeAll() {
    close(devices);
  }

  private static void close(List<Device> devices) {
    devices.forEach(device -> Closing.surviving(device.info().id(), device));
  }

  /** Returns the rank of a kind. The best has the lowest. */
  private static int rank(AcceleratorKind kind) {
    return switch (kind) {
      case GPU -> 0;
      case OTHER -> 1;
      case CPU -> 2;
    };
  }

  private List<AcceleratorProvider> installed() {
    List<AcceleratorProvider> installed = new ArrayList<>();
    Iterator<AcceleratorProvider> all =
        ServiceLoader.load(AcceleratorProvider.class, AcceleratorProvider.class.getClassLoader())
            .iterator();
    try {
      while (all.hasNext()) {
        try {
          installed.add(all.next());
        } catch (ServiceConfigurationError e) {
          // The failure of one provider; the iterator continues with the next.
          notes.add(notLoaded(e));
        }
      }
    } catch (ServiceConfigurationError e) {
      // The failure of a list of providers. Another call may fail forever.
      notes.add(notLoaded(e));
    }
    // The class path has an arbitrary order. This order puts cuda and metal before opencl.
    installed.sort(Comparator.comparing(AcceleratorProvider::name));
    return installed;
  }

  private static String notLoaded(ServiceConfigurationError failure) {
    Throwable cause = failure.getCause();
    return "a provider cannot be loaded: "
        + failure.getMessage()
        + (cause == null ? "" : ": " + cause);
  }
}
