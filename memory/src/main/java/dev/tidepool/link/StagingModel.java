package dev.tidepool.link;

import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferCalibration.Cost;
import dev.tidepool.transfer.TransferCalibration.Leg;
import java.util.Optional;

/**
 * A model of the time of a staged transfer. It has two stages: the processor's copy between the
 * bytes and a staging block, and the device's copy between that block and its memory.
 *
 * <p>With {@code n} chunks of {@code c} bytes in a ring of {@code d} blocks, a transfer takes the
 * time of the first chunk through both stages, and one period for each further chunk. The period is
 * the longer of two times: the time of the slower stage, or the round trip of a chunk divided by
 * the number of blocks in use (Little's law). Small chunks fill the pipeline sooner; large ones pay
 * the link's latency less often. If the link is the slower stage, the best size is {@code
 * sqrt(bytes * latency / host)}, as in the pipelined broadcasts of Chan, Heimlich, Purkayastha and
 * van de Geijn ("Collective communication: theory, practice, and experience", 2007). This class
 * tries the few possible sizes and depths instead, which finds the same and respects all limits.
 *
 * @param hostNanosPerByte of the processor's copy
 * @param commandNanos of each chunk's command on the link, without its bytes
 * @param linkNanosPerByte of the link
 * @param noticeNanos from the end of a command until a waiting thread runs
 */
record StagingModel(
    double hostNanosPerByte, double commandNanos, double linkNanosPerByte, double noticeNanos) {
  static final long SMALLEST_CHUNK = 64 << 10;
  static final int DEEPEST = 4;

  /** One block for the host, one for the device, and one in reserve if a side is delayed. */
  private static final int SHALLOWEST = 3;

  /**
   * How to cut a transfer.
   *
   * @param chunk bytes of one staging block
   * @param depth the number of staging blocks
   * @param nanos the expected time
   */
  record Plan(long chunk, int depth, double nanos) {}

  /** Returns the calibrated model of one direction, if there is one. */
  static Optional<StagingModel> of(TransferCalibration costs, boolean pinned, boolean up) {
    Cost link = costs.legs().get(TransferPaths.link(pinned, up));
    Cost host = costs.legs().get(Leg.HOST_COPY);
    Cost command = costs.legs().get(Leg.CHUNK);
    if (link == null || host == null || command == null) {
      return Optional.empty();
    }
    double each = Math.min(command.latencyNanos(), link.latencyNanos());
    return Optional.of(
        new StagingModel(
            host.nanosPerByte(), each, link.nanosPerByte(), link.latencyNanos() - each));
  }

  /** Returns the expected time of a transfer with these chunks. */
  double nanos(long bytes, long chunk, int depth) {
    long step = Math.min(bytes, chunk);
    double host = step * hostNanosPerByte;
    double link = commandNanos + step * linkNanosPerByte;
    double roundTrip = host + link + noticeNanos;
    double period = Math.max(Math.max(host, link), roundTrip / depth);
    double further = Math.ceil((double) bytes / step) - 1;
    return roundTrip + further * period;
  }

  /**
   * Returns the fastest plan with chunks of at most {@code most} bytes. Of plans that are about
   * equally fast, returns the one with the fewest commands, then with the fewest blocks.
   */
  Plan best(long bytes, long most) {
    Plan best = plan(bytes, most, SHALLOWEST);
    if (bytes <= SMALLEST_CHUNK) {
      return best; // any plan has only one chunk
    }
    for (long chunk = most; chunk >= Math.min(most, SMALLEST_CHUNK); chunk /= 2) {
      for (int depth = SHALLOWEST; depth <= DEEPEST; depth++) {
        Plan plan = plan(bytes, chunk, depth);
        if (plan.nanos() < best.nanos() * 0.999) {
          best = plan;
        }
      }
    }
    return best;
  }

  /** Returns the number of threads that together copy faster than the link, with a margin. */
  int usefulThreads() {
    return (int) Math.min(64, Math.ceil(1.5 * hostNanosPerByte / linkNanosPerByte));
  }

  private Plan plan(long bytes, long chunk, int depth) {
    return new Plan(chunk, depth, nanos(bytes, chunk, depth));
  }
}
