package dev.tidepool.spark;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorKind;
import dev.tidepool.Tidepool;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Selects the accelerator of a task. Spark identifies devices by the addresses that a discovery
 * script printed, usually numbers. The processor never replaces a device that was requested.
 */
final class DeviceChoice {
  private DeviceChoice() {}

  /**
   * Returns the accelerator of a task.
   *
   * @param address Spark's address of the device, if Spark assigns devices
   * @throws IllegalStateException if the device is absent; the message names it and the
   *     accelerators that are present
   */
  static Accelerator choose(Tidepool tidepool, Settings settings, Optional<String> address) {
    return address.isPresent()
        ? at(address.get(), tidepool, settings)
        : named(tidepool, settings.accelerator());
  }

  private static Accelerator named(Tidepool tidepool, String accelerator) {
    try {
      return tidepool.accelerator(accelerator);
    } catch (IllegalArgumentException e) {
      throw new IllegalStateException(
          "spark.tidepool.accelerator is "
              + accelerator
              + ", but this executor has no such device"
              + present(tidepool),
          e);
    }
  }

  /**
   * Returns the device at an address. A processor with a driver such as PoCL qualifies only if its
   * id is the address, or if the setting names its kind.
   */
  private static Accelerator at(String address, Tidepool tidepool, Settings settings) {
    boolean isAny = settings.kind().equals(Settings.ANY_ACCELERATOR);
    List<Accelerator> eligible =
        isAny
            ? tidepool.accelerators().stream().filter(DeviceChoice::isDevice).toList()
            : tidepool.accelerators();
    // The best device is the first.
    Optional<String> kind =
        isAny
            ? eligible.stream().map(DeviceChoice::kind).findFirst()
            : Optional.of(settings.kind());
    Optional<String> wanted = kind.map(each -> each + ":" + address);
    return withId(address, tidepool.accelerators())
        .or(() -> wanted.flatMap(id -> withId(id, eligible)))
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "Spark assigned the "
                        + settings.resource()
                        + " address "
                        + address
                        + " to this task; looked for "
                        + (isAny ? besideProcessor(wanted) : wanted.orElseThrow())
                        + ", but this executor has none"
                        + present(tidepool)));
  }

  private static String besideProcessor(Optional<String> wanted) {
    return wanted.map(id -> id + " among devices").orElse("a device")
        + " other than the processor, as spark.tidepool.accelerator names no kind";
  }

  private static Optional<Accelerator> withId(String id, List<Accelerator> accelerators) {
    return accelerators.stream().filter(each -> each.id().equals(id)).findFirst();
  }

  private static boolean isDevice(Accelerator accelerator) {
    return accelerator.kind() != AcceleratorKind.CPU;
  }

  private static String kind(Accelerator accelerator) {
    return accelerator.id().substring(0, accelerator.id().indexOf(':'));
  }

  private static String present(Tidepool tidepool) {
    List<Accelerator> accelerators = tidepool.accelerators();
    return accelerators.stream()
        .map(each -> each.id() + " (" + each.name() + (isDevice(each) ? ")" : "; the processor)"))
        .collect(
            Collectors.joining(
                ", ",
                "; present: ",
                tidepool.notes().stream().map(note -> "; " + note).collect(Collectors.joining())));
  }
}
