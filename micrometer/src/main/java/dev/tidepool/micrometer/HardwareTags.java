package dev.tidepool.micrometer;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorKind;
import io.micrometer.core.instrument.Tags;

/**
 * What OpenTelemetry tells hardware apart by.
 *
 * @param id {@code hw.id}
 * @param name {@code hw.name}
 * @param kind what {@code hw.type} is made of
 */
record HardwareTags(String id, String name, AcceleratorKind kind) {
  static HardwareTags of(Accelerator accelerator) {
    return new HardwareTags(accelerator.id(), accelerator.name(), accelerator.kind());
  }

  /** Returns whether it is no processor of the host, whose memory is not the accelerator's. */
  boolean isOffHost() {
    return kind != AcceleratorKind.CPU;
  }

  Tags tags() {
    return Tags.of("hw.id", id, "hw.name", name, "hw.type", type());
  }

  private String type() {
    return switch (kind) {
      case CPU -> "cpu";
      case GPU -> "gpu";
      case OTHER -> "other";
    };
  }
}
