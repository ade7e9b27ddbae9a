package dev.tidepool.host.system;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Reads the small text files of Linux about the system. An absent file has no lines. */
public final class ProcFiles {
  private ProcFiles() {}

  public static List<String> lines(Path file) {
    try {
      return new String(Files.readAllBytes(file), StandardCharsets.UTF_8).lines().toList();
    } catch (IOException | SecurityException e) {
      return List.of();
    }
  }

  /** Returns the number in a file, or 0 if the file is absent or has other text. */
  public static long number(Path file) {
    List<String> lines = lines(file);
    return lines.isEmpty() ? 0 : parse(lines.getFirst().strip(), 0);
  }

  public static long parse(String text, long otherwise) {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      return otherwise;
    }
  }

  /** Returns the numbers in a list such as {@code 0-3,8}. */
  public static List<Integer> numbers(String list) {
    List<Integer> numbers = new ArrayList<>();
    for (String part : list.strip().split(",", -1)) {
      String[] ends = part.split("-", -1);
      long first = parse(ends[0], -1);
      long last = parse(ends[ends.length - 1], -1);
      for (long number = first; number >= 0 && number <= last; number++) {
        numbers.add((int) number);
      }
    }
    return numbers;
  }
}
