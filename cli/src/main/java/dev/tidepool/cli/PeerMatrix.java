package dev.tidepool.cli;

import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Prints which devices copy directly to which, as a table; a wide table is split into several. */
final class PeerMatrix {
  private static final int COLUMN = 14;
  private static final int COLUMNS = 4;

  private PeerMatrix() {}

  static void print(List<InfoReport.Peer> peers, PrintStream out) {
    Map<String, Map<String, String>> rows = new LinkedHashMap<>();
    for (InfoReport.Peer peer : peers) {
      rows.computeIfAbsent(peer.from(), from -> new LinkedHashMap<>()).put(peer.to(), word(peer));
    }
    List<String> ids = List.copyOf(rows.keySet());
    for (int first = 0; first < ids.size(); first += COLUMNS) {
      List<String> shown = ids.subList(first, Math.min(first + COLUMNS, ids.size()));
      line(out, first == 0 ? "from, to" : "", shown);
      rows.forEach(
          (from, ways) ->
              line(out, from, shown.stream().map(to -> ways.getOrDefault(to, "-")).toList()));
    }
  }

  private static String word(InfoReport.Peer peer) {
    if (!peer.reachable()) {
      return "by the host";
    }
    return peer.state().equals("disabled") ? "disabled" : "direct";
  }

  private static void line(PrintStream out, String head, List<String> cells) {
    StringBuilder line = new StringBuilder("  ").append(padded(head));
    cells.forEach(cell -> line.append(padded(cell)));
    out.println(line.toString().stripTrailing());
  }

  private static String padded(String text) {
    return text + " ".repeat(Math.max(1, COLUMN - text.length()));
  }
}
