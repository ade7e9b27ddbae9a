package dev.tidepool.runtime.transfers;

import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferCalibration.Cost;
import dev.tidepool.transfer.TransferCalibration.Leg;
import java.time.Instant;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A calibration as text. The lines are: the format, the key, the time of the measurement, and one
 * line for each leg and each peer.
 */
final class CalibrationText {
  private static final String FIRST = "tidepool calibration 2";
  private static final String PEER = "peer:";

  private CalibrationText() {}

  static String of(String key, TransferCalibration calibration) {
    StringBuilder text = new StringBuilder();
    text.append(FIRST).append('\n').append(key).append('\n');
    text.append(calibration.measured()).append('\n');
    calibration.legs().forEach((leg, cost) -> append(text, leg.name(), cost));
    calibration.peers().forEach((peer, cost) -> append(text, PEER + peer, cost));
    return text.toString();
  }

  private static void append(StringBuilder text, String name, Cost cost) {
    text.append(cost.latencyNanos()).append(' ').append(cost.nanosPerByte()).append(' ');
    text.append(name.replace('\n', ' ')).append('\n');
  }

  /** Parses a calibration. Returns empty if key or version differ, or the text is malformed. */
  static Optional<TransferCalibration> parse(String key, String text) {
    List<String> lines = text.lines().toList();
    if (lines.size() < 3 || !lines.get(0).equals(FIRST) || !lines.get(1).equals(key)) {
      return Optional.empty();
    }
    try {
      Map<Leg, Cost> legs = new EnumMap<>(Leg.class);
      Map<String, Cost> peers = new HashMap<>();
      Iterator<String> costs = lines.listIterator(3);
      while (costs.hasNext()) {
        String[] words = costs.next().split(" ", 3);
        Cost cost = new Cost(Double.parseDouble(words[0]), Double.parseDouble(words[1]));
        if (words[2].startsWith(PEER)) {
          peers.put(words[2].substring(PEER.length()), cost);
        } else {
          legs.put(Leg.valueOf(words[2]), cost);
        }
      }
      return Optional.of(new TransferCalibration(Instant.parse(lines.get(2)), legs, peers));
    } catch (RuntimeException malformed) {
      return Optional.empty();
    }
  }
}
