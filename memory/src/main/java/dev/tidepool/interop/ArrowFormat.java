package dev.tidepool.interop;

import dev.tidepool.ElementType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.stream.Collectors;

/** Arrow's format strings of the types whose values are one element each. */
final class ArrowFormat {
  private static final Map<ElementType<?>, String> NAMES =
      Map.of(
          ElementType.BYTE, "c",
          ElementType.UNSIGNED_BYTE, "C",
          ElementType.SHORT, "s",
          ElementType.UNSIGNED_SHORT, "S",
          ElementType.INT, "i",
          ElementType.UNSIGNED_INT, "I",
          ElementType.LONG, "l",
          ElementType.UNSIGNED_LONG, "L",
          ElementType.FLOAT, "f",
          ElementType.DOUBLE, "g");

  /** The format strings as C strings, which are never freed. */
  private static final Map<ElementType<?>, MemorySegment> TEXTS =
      NAMES.entrySet().stream()
          .collect(
              Collectors.toUnmodifiableMap(
                  Map.Entry::getKey, entry -> Arena.global().allocateFrom(entry.getValue())));

  private ArrowFormat() {}

  /** Returns the format string of a type as a C string. */
  static MemorySegment of(ElementType<?> type) {
    MemorySegment text = TEXTS.get(type);
    if (text == null) {
      throw new IllegalArgumentException(
          "Arrow has no column for the elements of "
              + type
              + (type.equals(ElementType.BOOLEAN) ? ", its truth values are bits" : "")
              + "; export another type, such as buffer.as(ElementType.BYTE)");
    }
    return text;
  }

  /** Returns the element type for a column. Dates and times are Arrow's integers for them. */
  static ElementType<?> elementType(String format) {
    for (Map.Entry<ElementType<?>, String> entry : NAMES.entrySet()) {
      if (entry.getValue().equals(format)) {
        return entry.getKey();
      }
    }
    String unit = format.substring(0, Math.min(3, format.length()));
    return switch (unit) {
      // Half floats have no Java type; a SHORT has their bits.
      case "e" -> ElementType.SHORT;
      case "tdD", "tts", "ttm", "tiM" -> ElementType.INT;
      case "tdm", "ttu", "ttn", "tss", "tsm", "tsu", "tsn", "tDs", "tDm", "tDu", "tDn" ->
          ElementType.LONG;
      default ->
          throw new UnsupportedOperationException(
              "a column of Arrow's format '"
                  + format
                  + "' is not one buffer of elements; integers, floats, dates and times are");
    };
  }
}
