package dev.tidepool.host.system;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;

/** The numbers of C headers in {@code constants.csv}. */
final class ConstantTable {
  static final String LINUX_X86_64 = "linux-x86_64";
  static final String LINUX_AARCH64 = "linux-aarch64";
  static final String MACOS = "macos";

  /**
   * A line of the table.
   *
   * @param expression in C
   * @param values by platform; platforms that lack it are absent
   * @param header of the C library
   * @param kernelHeader of the Linux kernel, or a dash
   */
  record Row(String expression, Map<String, Long> values, String header, String kernelHeader) {
    OptionalLong on(String platform) {
      Long value = values.get(platform);
      return value == null ? OptionalLong.empty() : OptionalLong.of(value);
    }
  }

  private ConstantTable() {}

  static List<Row> rows() throws IOException {
    List<String> lines;
    try (InputStream file = ConstantTable.class.getResourceAsStream("constants.csv")) {
      lines =
          new String(Objects.requireNonNull(file).readAllBytes(), StandardCharsets.UTF_8)
              .lines()
              .filter(line -> !line.startsWith("#"))
              .toList();
    }
    String[] names = lines.getFirst().split("; ", -1);
    List<Row> rows = new ArrayList<>();
    for (String line : lines.subList(1, lines.size())) {
      String[] cells = line.split("; ", -1);
      Map<String, Long> values = new HashMap<>();
      for (int column = 1; column <= 3; column++) {
        if (!cells[column].equals("-")) {
          values.put(names[column], Long.decode(cells[column]));
        }
      }
      rows.add(new Row(cells[0], values, cells[4], cells[5]));
    }
    return rows;
  }
}
