package dev.tidepool.micrometer;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorKind;
import io.micrometer.core.instrument.Tags;

/**
 * The tags by which OpenTelemetry distinguishes hardware.
 *
 * @param id the value of {@code hw.id}
 * @param name the value of {@code hw.name}
 * @param kind determines {@code hw.type}
 */
record HardwareTags(String id, String name, AcceleratorKind kind) {
  static HardwareTags of(Accelerator accelerator) {
    return new HardwareTags(accelerator.id(), accelerator.name(), accelerator.kind());
  }

  /** Returns whether the accelerator is not the host's processor, and has memory of its own. */
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
