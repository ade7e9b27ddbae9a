package dev.tidepool.transfer;

import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/**
 * The measured cost of the ways to, from and on an accelerator of this machine.
 *
 * @param measured the time of the measurement
 * @param legs the cost of each leg; legs that the accelerator does not have are left out
 * @param peers copies from other accelerators, by their names
 */
public record TransferCalibration(Instant measured, Map<Leg, Cost> legs, Map<String, Cost> peers) {

  /** A part of a way. */
  public enum Leg {
    /** From page-locked memory of the host to the device, by one command, with a wait. */
    PINNED_UP,
    /** From other memory of the host to the device. */
    PLAIN_UP,
    /** From the device to page-locked memory of the host. */
    PINNED_DOWN,
    /** From the device to other memory of the host. */
    PLAIN_DOWN,
    /** Within the device's memory. */
    LOCAL,
    /** From an array to a staging block, by the processor. */
    HOST_COPY,
    /** One more write while others are in progress: the cost of a command without a wait. */
    COMMAND,
    /** One more write that takes longer than its submission: the cost of splitting a transfer. */
    CHUNK,
    /** Many small pieces of one staging block to many places, by one command. */
    SCATTER
  }

  /**
   * The time of a copy as a linear function of its bytes (the model of Hockney, "The communication
   * challenge for MPP", 1994).
   *
   * @param latencyNanos the nanoseconds for no bytes
   * @param nanosPerByte the nanoseconds for each byte
   */
  public record Cost(double latencyNanos, double nanosPerByte) {
    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if a number is negative, or too large
     */
    public Cost {
      if (!(latencyNanos >= 0 && nanosPerByte >= 0 && latencyNanos + nanosPerByte < 1e18)) {
        throw new IllegalArgumentException(
            latencyNanos + " ns and " + nanosPerByte + " ns for each byte are no cost");
      }
    }

    /** Returns the nanoseconds for a number of bytes. */
    public double nanos(long bytes) {
      return latencyNanos + bytes * nanosPerByte;
    }

    /** Returns the bytes per second of an endless copy; infinite if bytes take no time. */
    public double peak() {
      return 1e9 / nanosPerByte;
    }
  }

  /** Copies the maps. */
  public TransferCalibration {
    legs = Map.copyOf(legs);
    peers = Map.copyOf(peers);
  }

  /** Returns the cost of a leg; empty if the accelerator does not have it. */
  public Optional<Cost> cost(Leg leg) {
    return Optional.ofNullable(legs.get(leg));
  }
}
