package dev.tidepool.cli;

import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.MalformedJsonException;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Checks the JSON form of a snapshot before a page shows it: the file is complete, its version is
 * known, and every index is valid. docs/snapshot.md describes the format.
 */
final class SnapshotFile {
  private static final String MARK = "tidepool-snapshot";
  private static final int VERSION = 1;
  private static final String DOES_NOT_BEGIN = "it does not begin with {\"" + MARK + "\"";
  private static final int MOST_BYTES = 256 << 20;

  private static final List<String> BLOCK_COLUMNS =
      List.of(
          "pool", "slab", "offset", "bytes", "state", "tag", "type", "length", "ageMicros", "site");
  private static final List<String> HISTORY_COLUMNS = List.of("micros", "bytes", "tag");

  /** The list into which the numbers of a column point. */
  private static final Map<String, String> LISTS =
      Map.of("pool", "pools", "state", "states", "tag", "tags", "type", "types", "site", "sites");

  private static final Set<String> FIGURES =
      Set.of(
          "totalAllocated",
          "totalPooled",
          "poolHits",
          "poolMisses",
          "activeBuffers",
          "peakUsage",
          "driverAllocations",
          "evictions",
          "leaks",
          "reservedBytes");

  private final JsonReader reader;
  private final Set<String> missing =
      new TreeSet<>(
          List.of(
              "time",
              "uptimeMicros",
              "reason",
              "accelerator",
              "memory",
              "statistics",
              "pools",
              "tags",
              "types",
              "sites",
              "states",
              "blocks",
              "history",
              "forgotten"));
  private final Map<String, Integer> sizes = new HashMap<>();
  private final Map<String, Long> largest = new HashMap<>();

  private SnapshotFile(String text) {
    reader = new JsonReader(new StringReader(text));
    reader.setStrictness(Strictness.STRICT);
  }

  /**
   * Returns the text of a snapshot file.
   *
   * @throws WrongArguments if the file cannot be read or is not a snapshot
   */
  static String read(Path file) {
    String text = text(file);
    try {
      new SnapshotFile(text).check();
      return text;
    } catch (EOFException e) {
      throw cut(file, text, e);
    } catch (MalformedJsonException | NumberFormatException | IllegalStateException e) {
      boolean ends =
          text.stripTrailing().endsWith("}") && !firstSentence(e).contains("Unterminated");
      if (text.startsWith("{\"" + MARK) && !ends) {
        throw cut(file, text, e);
      }
      throw noSnapshot(file, firstSentence(e), e);
    } catch (Flaw e) {
      throw noSnapshot(file, String.valueOf(e.getMessage()), e);
    } catch (IOException e) {
      throw WrongArguments.unreadable(file, e);
    }
  }

  private static WrongArguments cut(Path file, String text, Exception cause) {
    return new WrongArguments(
        file + " is cut off after " + Figures.bytes(text.length()) + "; take it again", cause);
  }

  private static WrongArguments noSnapshot(Path file, String reason, Exception cause) {
    return new WrongArguments(file + " is no Tidepool snapshot: " + reason, cause);
  }

  /** Returns the first line of a message without the JSON reader's advice to programmers. */
  private static String firstSentence(Exception e) {
    String sentence = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
    return sentence.isEmpty() || sentence.contains("JsonReader") ? "it is no JSON" : sentence;
  }

  /** Reads a file, but no further than needed, because a device or a pipe may never end. */
  private static String text(Path file) {
    try (BufferedInputStream in = new BufferedInputStream(Files.newInputStream(file))) {
      in.mark(1);
      int first = in.read();
      if (first != '{' && first != -1) {
        throw noSnapshot(file, DOES_NOT_BEGIN, new Flaw(DOES_NOT_BEGIN));
      }
      if (Files.isRegularFile(file)) {
        checkSize(file, Files.size(file));
        return Files.readString(file);
      }
      in.reset();
      byte[] bytes = in.readNBytes(MOST_BYTES + 1);
      checkSize(file, bytes.length);
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw noSnapshot(file, "it is no text in UTF-8", e);
    } catch (IOException e) {
      throw WrongArguments.unreadable(file, e);
    }
  }

  private static void checkSize(Path file, long bytes) {
    if (bytes > MOST_BYTES) {
      throw new WrongArguments(
          file + " has more than " + Figures.bytes(MOST_BYTES) + "; keep a shorter history");
    }
  }

  /** Thrown for content that snapshots do not have. */
  private static final class Flaw extends Exception {
    private static final long serialVersionUID = 1L;

    Flaw(String message) {
      super(message);
    }
  }

  private void check() throws IOException, Flaw {
    if (reader.peek() != JsonToken.BEGIN_OBJECT) {
      throw new Flaw(DOES_NOT_BEGIN);
    }
    reader.beginObject();
    if (!reader.hasNext() || !reader.nextName().equals(MARK)) {
      throw new Flaw(DOES_NOT_BEGIN);
    }
    long version = number();
    if (version != VERSION) {
      throw new Flaw("it is of version " + version + ", and this tidepool reads " + VERSION);
    }
    while (reader.hasNext()) {
      String name = reader.nextName();
      missing.remove(name);
      member(name);
    }
    reader.endObject();
    if (reader.peek() != JsonToken.END_DOCUMENT) {
      throw new Flaw("something follows its end");
    }
    if (!missing.isEmpty()) {
      throw new Flaw("it has no " + String.join(", ", missing));
    }
    for (Map.Entry<String, Long> index : largest.entrySet()) {
      int size = sizes.getOrDefault(index.getKey(), 0);
      if (index.getValue() >= size) {
        throw new Flaw(
            "it names number " + index.getValue() + " of " + size + " " + index.getKey());
      }
    }
  }

  private void member(String name) throws IOException, Flaw {
    switch (name) {
      case "time", "reason", "accelerator" -> string();
      case "uptimeMicros", "forgotten" -> skipNumber();
      case "blocks" -> table(BLOCK_COLUMNS);
      case "history" -> table(HISTORY_COLUMNS);
      case "types", "sites", "states" -> sizes.put(name, strings());
      case "pools" -> sizes.put(name, objects(Set.of("name"), Set.of()));
      case "tags" -> sizes.put(name, objects(Set.of("name"), Set.of("liveBytes", "liveBuffers")));
      case "memory" -> object(Set.of(), Set.of("totalBytes", "freeBytes"));
      case "statistics" -> object(Set.of(), FIGURES);
      default -> reader.skipValue();
    }
  }

  /** Reads a string. The reader also accepts numbers as strings, but the page does not. */
  private void string() throws IOException, Flaw {
    if (reader.peek() != JsonToken.STRING) {
      throw new Flaw("there is no text at " + reader.getPath());
    }
    var _ = reader.nextString();
  }

  private long number() throws IOException, Flaw {
    if (reader.peek() != JsonToken.NUMBER) {
      throw new Flaw("there is no number at " + reader.getPath());
    }
    return reader.nextLong();
  }

  private void skipNumber() throws IOException, Flaw {
    var _ = number();
  }

  private int strings() throws IOException, Flaw {
    int count = 0;
    reader.beginArray();
    while (reader.hasNext()) {
      string();
      count++;
    }
    reader.endArray();
    return count;
  }

  private int objects(Set<String> texts, Set<String> numbers) throws IOException, Flaw {
    int count = 0;
    reader.beginArray();
    while (reader.hasNext()) {
      object(texts, numbers);
      count++;
    }
    reader.endArray();
    return count;
  }

  private void object(Set<String> texts, Set<String> numbers) throws IOException, Flaw {
    Set<String> wanted = new TreeSet<>(texts);
    wanted.addAll(numbers);
    String path = reader.getPath();
    reader.beginObject();
    while (reader.hasNext()) {
      String name = reader.nextName();
      wanted.remove(name);
      if (texts.contains(name)) {
        string();
      } else if (numbers.contains(name)) {
        skipNumber();
      } else {
        reader.skipValue();
      }
    }
    reader.endObject();
    if (!wanted.isEmpty()) {
      throw new Flaw(path + " has no " + String.join(", ", wanted));
    }
  }

  private void table(List<String> wanted) throws IOException, Flaw {
    List<String> columns = new ArrayList<>();
    boolean hasRows = false;
    reader.beginObject();
    while (reader.hasNext()) {
      switch (reader.nextName()) {
        case "columns" -> {
          reader.beginArray();
          while (reader.hasNext()) {
            columns.add(reader.nextString());
          }
          reader.endArray();
        }
        case "rows" -> {
          if (!columns.containsAll(wanted)) {
            throw new Flaw(reader.getPath() + " has not the columns " + wanted);
          }
          rows(columns);
          hasRows = true;
        }
        default -> reader.skipValue();
      }
    }
    reader.endObject();
    if (columns.isEmpty() || !hasRows) {
      throw new Flaw(reader.getPath() + " has no " + (hasRows ? "columns" : "rows"));
    }
  }

  private void rows(List<String> columns) throws IOException, Flaw {
    List<String> lists = columns.stream().map(name -> LISTS.getOrDefault(name, "")).toList();
    reader.beginArray();
    while (reader.hasNext()) {
      reader.beginArray();
      for (String list : lists) {
        long number = number();
        if (!list.isEmpty()) {
          point(list, number);
        }
      }
      reader.endArray();
    }
    reader.endArray();
  }

  private void point(String list, long index) throws Flaw {
    // In "pools", -1 stands for memory outside of the pools.
    if (index < 0 && !(index == -1 && list.equals("pools"))) {
      throw new Flaw(reader.getPath() + " is " + index);
    }
    largest.merge(list, index, Math::max);
  }
}
