package dev.tidepool.cli;

/**
 * Formats numbers for all commands. It does not use {@code String.format}, which would add 20 ms to
 * the start of {@code eval}.
 */
final class Figures {
  private static final String[] BYTE_UNITS = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  private static final double NANOS_PER_SECOND = 1e9;
  // Larger numbers would be printed with four digits, so the next unit begins here.
  private static final double NEXT_UNIT = 999.5;

  private Figures() {}

  /** Returns a count with separators between thousands: {@code 1,048,576}. */
  static String count(long number) {
    StringBuilder digits = new StringBuilder(Long.toString(number));
    for (int at = digits.length() - 3; at > (number < 0 ? 1 : 0); at -= 3) {
      digits.insert(at, ',');
    }
    return digits.toString();
  }

  /** Returns a count with its noun: {@code 1 element}, {@code 1,024 elements}. */
  static String count(long number, String noun) {
    return count(number) + " " + noun + (number == 1 ? "" : "s");
  }

  /** Returns a time in a suitable unit: {@code 850 ns}, {@code 12.3 µs}, {@code 4.56 ms}. */
  static String time(double nanos) {
    if (nanos < NEXT_UNIT) {
      return significant(nanos) + " ns";
    }
    if (nanos < NEXT_UNIT * 1e3) {
      return significant(nanos / 1e3) + " µs";
    }
    return nanos < NEXT_UNIT * 1e6
        ? significant(nanos / 1e6) + " ms"
        : significant(nanos / NANOS_PER_SECOND) + " s";
  }

  /** Returns a time in a suitable unit. */
  static String time(long nanos) {
    return time((double) nanos);
  }

  /** Returns a number of bytes in a suitable unit: {@code 640 bytes}, {@code 1.5 GiB}. */
  static String bytes(long bytes) {
    return bytes < 1024 ? count(bytes, "byte") : binary((double) bytes);
  }

  /** Returns the rate of bytes moved in a time: {@code 3.85 GiB/s}. */
  static String rate(long bytes, double nanos) {
    double perSecond = (double) bytes * NANOS_PER_SECOND / Math.max(1, nanos);
    return perSecond < 1024 ? Math.round(perSecond) + " bytes/s" : binary(perSecond) + "/s";
  }

  /** Returns the rate of bytes moved in a time. */
  static String rate(long bytes, long nanos) {
    return rate(bytes, (double) nanos);
  }

  private static String binary(double bytes) {
    double value = bytes / 1024;
    int unit = 0;
    while (value >= NEXT_UNIT && unit < BYTE_UNITS.length - 1) {
      value /= 1024;
      unit++;
    }
    boolean whole = value == Math.rint(value);
    return (whole ? count((long) value) : significant(value)) + " " + BYTE_UNITS[unit];
  }

  /** Returns a number with three significant digits: {@code 1.25}, {@code 12.5}, {@code 125}. */
  static String significant(double value) {
    if (value >= 99.95) {
      return count(Math.round(value));
    }
    return value >= 9.995 ? decimal(value, 1) : decimal(value, 2);
  }

  /** Returns a nonnegative number with some digits after the point. */
  static String decimal(double value, int digits) {
    long scale = Math.round(Math.pow(10, digits));
    long scaled = Math.round(value * scale);
    String fraction = Long.toString(scale + scaled % scale).substring(1);
    return count(scaled / scale) + "." + fraction;
  }
}
