package dev.tidepool;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Parses and formats numbers of bytes: {@code 4096}, {@code 64k}, {@code 1.5 GiB}. */
public final class ByteSize {
  private static final Pattern FORM =
      Pattern.compile("\\s*(\\d+(?:\\.\\d+)?)\\s*(?:([kmgtKMGT])(?:i?[bB])?|[bB])?\\s*");
  private static final String UNITS = "KMGT";

  private ByteSize() {}

  /**
   * Parses a number of bytes. Units are powers of 1024.
   *
   * @throws IllegalArgumentException if the text is not a number of bytes, or exceeds 64 bits
   */
  public static long parse(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is no number of bytes; write 1048576, 64k, 1.5m, 2GiB");
    }
    String unit = matcher.group(2);
    int power = unit == null ? 0 : UNITS.indexOf(unit.toUpperCase(Locale.ROOT)) + 1;
    String number = matcher.group(1);
    try {
      // A double has too few digits for the largest counts, and BigDecimal takes milliseconds to
      // initialize, which a short command would notice.
      return number.contains(".")
          ? fraction(Double.parseDouble(number) * Math.pow(1024, power))
          : Math.multiplyExact(Long.parseLong(number), 1L << (10 * power));
    } catch (ArithmeticException | NumberFormatException e) {
      throw new IllegalArgumentException("'" + text + "' exceeds " + Long.MAX_VALUE + " bytes", e);
    }
  }

  private static long fraction(double bytes) {
    if (bytes >= Long.MAX_VALUE) {
      throw new ArithmeticException();
    }
    return (long) bytes;
  }

  /** Formats a number of bytes with its unit, such as {@code 1.5 GiB}. */
  public static String format(long bytes) {
    double value = bytes;
    int power = 0;
    while (Math.abs(value) >= 1024 && power < UNITS.length()) {
      value /= 1024;
      power++;
    }
    if (power == 0) {
      return bytes + (bytes == 1 ? " byte" : " bytes");
    }
    String number = value == Math.rint(value) ? "%.0f" : "%.1f";
    return String.format(Locale.ROOT, number + " %ciB", value, UNITS.charAt(power - 1));
  }
}
