package dev.tidepool.diagnostics;

import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Writes the JSON form of a snapshot. Blocks and changes are rows of numbers, which refer to lists
 * of the tags, types and stacks. So a hundred thousand blocks take only some megabytes. Not safe
 * for concurrent use.
 */
final class SnapshotText {
  private static final int VERSION = 1;
  private static final List<Snapshot.State> STATES = List.of(Snapshot.State.values());

  /** The characters that are written at once. */
  private static final int PIECE = 64 << 10;

  private final Snapshot snapshot;
  private final StringBuilder text = new StringBuilder();
  private final Map<String, Integer> tags = new LinkedHashMap<>();
  private final Map<String, Integer> types = new LinkedHashMap<>();
  private final Map<String, Integer> sites = new LinkedHashMap<>();

  SnapshotText(Snapshot snapshot) {
    this.snapshot = snapshot;
  }

  /** Writes the whole snapshot. */
  void appendTo(Appendable target) throws IOException {
    snapshot.tags().forEach(tag -> number(tags, tag.name()));
    text.append("{\"tidepool-snapshot\":").append(VERSION);
    member("time", snapshot.time().toString());
    member("uptimeMicros", micros(snapshot.uptime()));
    member("reason", snapshot.reason());
    member("accelerator", snapshot.accelerator());
    member("memory", snapshot.memory());
    member("statistics", snapshot.statistics());
    member("pools", snapshot.pools());
    member("states", STATES.stream().map(state -> state.name().toLowerCase(Locale.ROOT)).toList());
    name("blocks");
    String columns =
        "[\"pool\",\"slab\",\"offset\",\"bytes\",\"state\",\"tag\",\"type\",\"length\","
            + "\"ageMicros\",\"site\"]";
    rows(target, columns, snapshot.blocks(), this::block);
    name("history");
    rows(target, "[\"micros\",\"bytes\",\"tag\"]", snapshot.history(), this::change);
    member("forgotten", snapshot.forgotten());
    member("reservations", snapshot.reservations());
    // At the end, because the rows determine their contents.
    member("types", List.copyOf(types.keySet()));
    member("sites", List.copyOf(sites.keySet()));
    name("tags");
    tags();
    text.append("}\n");
    target.append(text);
  }

  private static long micros(Duration duration) {
    return duration.toSeconds() * 1_000_000 + duration.toNanosPart() / 1_000;
  }

  /**
   * Returns the index of a text in a list that contains each text once. Adds the text if it is
   * missing.
   */
  private static int number(Map<String, Integer> numbers, String key) {
    Integer known = numbers.get(key);
    if (known != null) {
      return known;
    }
    int next = numbers.size();
    numbers.put(key, next);
    return next;
  }

  private <T> void rows(Appendable target, String columns, List<T> rows, Consumer<T> row)
      throws IOException {
    text.append("{\"columns\":").append(columns).append(",\"rows\":[");
    String separator = "\n[";
    for (T each : rows) {
      text.append(separator);
      row.accept(each);
      text.append(']');
      separator = ",\n[";
      if (text.length() >= PIECE) {
        target.append(text);
        text.setLength(0);
      }
    }
    text.append("]}");
  }

  private void block(Snapshot.Block block) {
    text.append(block.pool()).append(',').append(block.slab()).append(',');
    text.append(block.offset()).append(',').append(block.bytes()).append(',');
    text.append(STATES.indexOf(block.state())).append(',');
    text.append(number(tags, block.tag())).append(',');
    text.append(number(types, block.elementType())).append(',');
    text.append(block.length()).append(',').append(micros(block.age())).append(',');
    text.append(number(sites, block.site()));
  }

  private void change(Snapshot.Change change) {
    text.append(micros(change.at())).append(',').append(change.bytes()).append(',');
    text.append(number(tags, change.tag()));
  }

  /** Writes the tags of the snapshot, and those that occur only in rows. */
  private void tags() {
    Map<String, Snapshot.Tag> known = new LinkedHashMap<>();
    tags.keySet().forEach(name -> known.put(name, new Snapshot.Tag(name, 0, 0)));
    snapshot.tags().forEach(tag -> known.put(tag.name(), tag));
    value(List.copyOf(known.values()));
  }

  private void member(String name, Object value) {
    name(name);
    value(value);
  }

  private void name(String name) {
    text.append(",\n");
    string(name);
    text.append(':');
  }

  /** Writes a value: a record as an object of its components, a map as an object of its entries. */
  private void value(Object value) {
    switch (value) {
      case Number number -> number(number);
      case Boolean flag -> text.append(flag.booleanValue());
      case Record fields -> object(components(fields));
      case Map<?, ?> entries -> object(entries);
      case Iterable<?> items -> array(items);
      default -> string(value.toString());
    }
  }

  private void number(Number number) {
    double approximately = number.doubleValue();
    text.append(Double.isFinite(approximately) ? number.toString() : "null");
  }

  private static Map<String, Object> components(Record fields) {
    Map<String, Object> values = new LinkedHashMap<>();
    try {
      for (RecordComponent component : fields.getClass().getRecordComponents()) {
        values.put(component.getName(), component.getAccessor().invoke(fields));
      }
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("a public record of this package shows its components", e);
    }
    return values;
  }

  private void object(Map<?, ?> entries) {
    String separator = "{";
    for (Map.Entry<?, ?> entry : entries.entrySet()) {
      text.append(separator);
      string(entry.getKey().toString());
      text.append(':');
      value(entry.getValue());
      separator = ",";
    }
    text.append(entries.isEmpty() ? "{}" : "}");
  }

  private void array(Iterable<?> items) {
    text.append('[');
    String separator = "";
    for (Object item : items) {
      text.append(separator);
      value(item);
      separator = ",";
    }
    text.append(']');
  }

  /**
   * Writes a string. Escapes the characters for which JSON requires it, {@code <}, which could end
   * a script element, and characters outside of ASCII that are neither letters nor digits. An
   * unpaired surrogate is written as the text of its escape, because JSON readers reject the escape
   * itself.
   */
  private void string(String string) {
    text.append('"');
    for (int i = 0; i < string.length(); i++) {
      char c = string.charAt(i);
      switch (c) {
        case '"' -> text.append("\\\"");
        case '\\' -> text.append("\\\\");
        case '\n' -> text.append("\\n");
        default -> {
          boolean plain = c >= ' ' && c < 0x7f && c != '<';
          if (plain || (c > 0xa0 && Character.isLetterOrDigit(c))) {
            text.append(c);
          } else {
            text.append(isHalf(string, i) ? "\\\\u" : "\\u");
            text.append(HexFormat.of().toHexDigits(c));
          }
        }
      }
    }
    text.append('"');
  }

  /** Returns whether the character at an index is an unpaired surrogate. */
  private static boolean isHalf(String string, int index) {
    char c = string.charAt(index);
    return Character.isHighSurrogate(c)
        ? index + 1 == string.length() || !Character.isLowSurrogate(string.charAt(index + 1))
        : Character.isLowSurrogate(c)
            && (index == 0 || !Character.isHighSurrogate(string.charAt(index - 1)));
  }
}
