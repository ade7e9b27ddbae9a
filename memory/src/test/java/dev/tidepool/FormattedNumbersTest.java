package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * No number is written in the digits of the default locale, such as those of Arabic: messages are
 * searched for, and headers, code and settings are parsed. {@code %s} writes an integer in ASCII in
 * every locale; {@code String.formatted} takes no other locale.
 */
class FormattedNumbersTest {
  private static final Pattern LITERAL = Pattern.compile("\"(?:[^\"\\\\\n]|\\\\.)*\"");
  private static final Pattern NUMBER = Pattern.compile("(?<!%)%[-#+0,(]*\\d*(\\.\\d+)?[dfeg]");
  // Programs to learn from, which print for people.
  private static final String EXAMPLES = "examples";

  @Test
  void namesTheLocaleWhereANumberIsFormatted() throws IOException {
    List<String> found = new ArrayList<>();
    for (Path file : mainSources()) {
      String source = Files.readString(file);
      Matcher literal = LITERAL.matcher(source);
      while (literal.find()) {
        if (NUMBER.matcher(literal.group()).find() && !isLocaleNamed(source, literal)) {
          found.add(file + ": " + literal.group());
        }
      }
    }
    assertThat(found).isEmpty();
  }

  private static List<Path> mainSources() throws IOException {
    List<Path> sources = new ArrayList<>();
    try (DirectoryStream<Path> modules = Files.newDirectoryStream(Path.of(".."))) {
      for (Path module : modules) {
        Path folder = module.resolve("src/main/java");
        if (Files.isDirectory(folder) && !module.endsWith(EXAMPLES)) {
          try (Stream<Path> files = Files.walk(folder)) {
            files.filter(file -> file.toString().endsWith(".java")).forEach(sources::add);
          }
        }
      }
    }
    assertThat(sources).hasSizeGreaterThan(500);
    return sources;
  }

  /** Whether the literal is an argument of a call that names it, or a form for one. */
  private static boolean isLocaleNamed(String source, Matcher literal) {
    int end = source.indexOf(';', literal.end());
    return source.contains("Locale.ROOT")
        && !source.substring(literal.end(), end).contains(".formatted(");
  }
}
