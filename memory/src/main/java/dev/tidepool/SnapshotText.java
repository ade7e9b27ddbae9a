package dev.tidepool;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The JSON form of a snapshot. Blocks and changes are rows of numbers, and what they share (tags,
 * types, stacks) stands in lists that the rows point into: a hundred thousand blocks take some
 * megabytes and a moment. Not for concurrent use.
 */
final class SnapshotText {
  private static final int VERSION = 1;
  private static final List<Snapshot.State> STATES = List.of(Snapshot.State.values());

  private final Snapshot snapshot;
  private final JsonBytes text;
  private final Numbering tags = new Numbering();
  private final Numbering types = new Numbering();
  private final Numbering sites = new Numbering();

  /** Texts that stand in a list once, each with its place there. */
  private static final class Numbering {
    private final Map<String, Integer> numbers = new LinkedHashMap<>();
    private @Nullable String last;
    private int lastNumber;

    int of(String key) {
      // Rows that follow each other mostly share the very object.
      if (!isLast(key)) {
        last = key;
        lastNumber = numbers.computeIfAbsent(key, _ -> numbers.size());
      }
      return lastNumber;
    }

    @SuppressWarnings("ReferenceEquality") // equal texts that are two objects are looked up
    private boolean isLast(String key) {
      return key == last;
    }

    List<String> list() {
      return List.copyOf(numbers.keySet());
    }
  }

  /** What one row of a table holds. */
  private interface Row<T> {
    void write(T each) throws IOException;
  }

  SnapshotText(Snapshot snapshot, OutputStream target) {
    this.snapshot = snapshot;
    this.text = new JsonBytes(target);
  }

  /** Writes all of it. */
  void write() throws IOException {
    snapshot.tags().forEach(tag -> tags.of(tag.name()));
    text.raw("{\"tidepool-snapshot\":");
    text.number(VERSION);
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
    rows(columns, snapshot.blocks(), this::block);
    name("history");
    rows("[\"micros\",\"bytes\",\"tag\"]", snapshot.history(), this::change);
    member("forgotten", snapshot.forgotten());
    // At the end, because the rows say what stands in them.
    member("types", types.list());
    member("sites", sites.list());
    name("tags");
    tags();
    text.raw("}\n");
    text.flush();
  }

  private static long micros(Duration duration) {
    return duration.toSeconds() * 1_000_000 + duration.toNanosPart() / 1_000;
  }

  private <T> void rows(String columns, List<T> rows, Row<T> row) throws IOException {
    text.raw("{\"columns\":");
    text.raw(columns);
    text.raw(",\"rows\":[");
    String separator = "\n[";
    for (T each : rows) {
      text.raw(separator);
      row.write(each);
      text.mark(']');
      separator = ",\n[";
    }
    text.raw("]}");
  }

  private void block(Snapshot.Block block) throws IOException {
    text.number(block.pool());
    next(block.slab());
    next(block.offset());
    next(block.bytes());
    next(STATES.indexOf(block.state()));
    next(tags.of(block.tag()));
    next(types.of(block.elementType()));
    next(block.length());
    next(micros(block.age()));
    next(sites.of(block.site()));
  }

  private void change(Snapshot.Change change) throws IOException {
    text.number(micros(change.at()));
    next(change.bytes());
    next(tags.of(change.tag()));
  }

  private void next(long number) throws IOException {
    text.mark(',');
    text.number(number);
  }

  /** The tags that are known, and those that only stand in rows. */
  private void tags() throws IOException {
    Map<String, Snapshot.Tag> known = new LinkedHashMap<>();
    tags.list().forEach(name -> known.put(name, new Snapshot.Tag(name, 0, 0)));
    snapshot.tags().forEach(tag -> known.put(tag.name(), tag));
    value(List.copyOf(known.values()));
  }

  private void member(String name, Object value) throws IOException {
    name(name);
    value(value);
  }

  private void name(String name) throws IOException {
    text.raw(",\n");
    text.string(name);
    text.mark(':');
  }

  /** A record is an object of its components, a map one of its entries. */
  private void value(Object value) throws IOException {
    switch (value) {
      case Number number -> number(number);
      case Boolean flag -> text.raw(flag.toString());
      case Record fields -> object(components(fields));
      case Map<?, ?> entries -> object(entries);
      case Iterable<?> items -> array(items);
      default -> text.string(value.toString());
    }
  }

  private void number(Number number) throws IOException {
    double approximately = number.doubleValue();
    text.raw(Double.isFinite(approximately) ? number.toString() : "null");
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

  private void object(Map<?, ?> entries) throws IOException {
    String separator = "{";
    for (Map.Entry<?, ?> entry : entries.entrySet()) {
      text.raw(separator);
      text.string(entry.getKey().toString());
      text.mark(':');
      value(entry.getValue());
      separator = ",";
    }
    text.raw(entries.isEmpty() ? "{}" : "}");
  }

  private void array(Iterable<?> items) throws IOException {
    text.mark('[');
    String separator = "";
    for (Object item : items) {
      text.raw(separator);
      value(item);
      separator = ",";
    }
    text.mark(']');
  }
}
