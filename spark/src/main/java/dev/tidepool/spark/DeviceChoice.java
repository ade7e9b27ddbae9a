package dev.tidepool.spark;

import dev.tidepool.Accelerator;
import dev.tidepool.Tidepool;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Which accelerator a task has. Spark knows devices by addresses, which a discovery script printed:
 * numbers as a rule. The processor is never taken in place of a device that was promised.
 */
final class DeviceChoice {
  private static final String CPU = "cpu";

  private DeviceChoice() {}

  /**
   * The accelerator of a task.
   *
   * @param address Spark's address of the device, where it assigns devices
   * @throws IllegalStateException if it is not there; the message says what was looked for and what
   *     there is
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

  private static Accelerator at(String address, Tidepool tidepool, Settings settings) {
    String kind =
        settings.kind().equals(Settings.ANY_ACCELERATOR)
            ? bestKind(tidepool).orElse("")
            : settings.kind();
    String wanted = kind + ":" + address;
    return tidepool.accelerators().stream()
        .filter(each -> each.id().equals(wanted) || each.id().equals(address))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "Spark assigned the "
                        + settings.resource()
                        + " address "
                        + address
                        + " to this task; looked for "
                        + (kind.isEmpty() ? "any device beside the processor" : wanted)
                        + ", but this executor has none"
                        + present(tidepool)));
  }

  /** The kind of the best accelerator that is a device. */
  private static Optional<String> bestKind(Tidepool tidepool) {
    return tidepool.accelerators().stream()
        .map(DeviceChoice::kind)
        .filter(kind -> !kind.equals(CPU))
        .findFirst();
  }

  private static String kind(Accelerator accelerator) {
    return accelerator.id().substring(0, accelerator.id().indexOf(':'));
  }

  private static String present(Tidepool tidepool) {
    List<Accelerator> accelerators = tidepool.accelerators();
    return accelerators.stream()
        .map(each -> each.id() + " (" + each.name() + ")")
        .collect(
            Collectors.joining(
                ", ",
                "; present: ",
                tidepool.notes().stream().map(note -> "; " + note).collect(Collectors.joining())));
  }
}
