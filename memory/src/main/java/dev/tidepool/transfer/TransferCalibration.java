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
    /** Page-locked memory of the host to the device, by one command that is waited for. */
    PINNED_UP,
    /** Other memory of the host to the device. */
    PLAIN_UP,
    /** The device to page-locked memory of the host. */
    PINNED_DOWN,
    /** The device to other memory of the host. */
    PLAIN_DOWN,
    /** Within the device's memory. */
    LOCAL,
    /** An array to a staging block, by the processor. */
    HOST_COPY,
    /** One more write while others are under way: what a command costs without a wait. */
    COMMAND,
    /** One more write that takes longer than its submission: what cutting a transfer costs. */
    CHUNK,
    /** Many small pieces of one staging block to many places by one command. */
    SCATTER
  }

  /**
   * The time of a movement as a line over its bytes (the model of Hockney, "The communication
   * challenge for MPP", 1994).
   *
   * @param latencyNanos of no bytes at all, in nanoseconds
   * @param nanosPerByte of each further byte
   */
  public record Cost(double latencyNanos, double nanosPerByte) {
    /** Checks the numbers. */
    public Cost {
      if (!(latencyNanos >= 0 && nanosPerByte >= 0 && latencyNanos + nanosPerByte < 1e18)) {
        throw new IllegalArgumentException(
            latencyNanos + " ns and " + nanosPerByte + " ns for each byte are no cost");
      }
    }

    /** Nanoseconds for a number of bytes. */
    public double nanos(long bytes) {
      return latencyNanos + bytes * nanosPerByte;
    }

    /** Bytes in a second of a movement without end; infinite if bytes take no time. */
    public double peak() {
      return 1e9 / nanosPerByte;
    }
  }

  /** Copies the maps. */
  public TransferCalibration {
    legs = Map.copyOf(legs);
    peers = Map.copyOf(peers);
  }

  /** Returns what a leg costs, if the accelerator has it. */
  public Optional<Cost> cost(Leg leg) {
    return Optional.ofNullable(legs.get(leg));
  }
}
