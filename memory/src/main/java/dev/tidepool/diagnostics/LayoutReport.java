package dev.tidepool.diagnostics;

import dev.tidepool.ElementType;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * How a record lies in memory as a struct: where its components are, which bytes are padding, and
 * an order of components with the least padding.
 *
 * <p>Components are naturally aligned, as C aligns them. The suggested order sorts them by
 * alignment, the largest first. Then no component needs padding before it, and only the end is
 * padded. Components that are records are moved as a whole; ask for a report of their own.
 *
 * @param type the record's simple name
 * @param byteSize bytes of one struct, padding included
 * @param alignment what its address is a multiple of, in bytes
 * @param components the primitives in the order of memory, those of nested records too
 * @param paddingBytes bytes of one struct that hold nothing
 * @param suggestedOrder the record's own components in the order that has the least padding; the
 *     present one where that is as good
 * @param suggestedByteSize bytes of one struct in that order
 */
public record LayoutReport(
    String type,
    long byteSize,
    long alignment,
    List<Component> components,
    long paddingBytes,
    List<String> suggestedOrder,
    long suggestedByteSize) {

  private static final long MILLION = 1_000_000;

  /**
   * A primitive of a struct.
   *
   * @param name of the component; within nested records all names on the way, with dots between
   * @param type of the component
   * @param offset from the start of the struct, in bytes
   * @param byteSize of the component
   * @param alignment what its offset is a multiple of
   * @param paddingAfter bytes between it and the next component, or the end of the struct
   */
  public record Component(
      String name,
      ElementType<?> type,
      long offset,
      long byteSize,
      long alignment,
      long paddingAfter) {}

  /** Copies the lists. */
  public LayoutReport {
    components = List.copyOf(components);
    suggestedOrder = List.copyOf(suggestedOrder);
  }

  /**
   * Returns the report of a record.
   *
   * @throws IllegalArgumentException if it cannot be a struct, as {@link ElementType#struct(Class)}
   *     says
   */
  public static LayoutReport of(Class<? extends Record> recordType) {
    return of(recordType.getSimpleName(), ElementType.structLayout(recordType));
  }

  /**
   * Returns the report of a struct type.
   *
   * @throws IllegalArgumentException if the elements are no structs
   */
  public static LayoutReport of(ElementType<?> struct) {
    if (!(struct.layout() instanceof StructLayout layout)) {
      throw new IllegalArgumentException(
          struct + " elements are no records; a layout report takes ElementType.struct(...)");
    }
    return of(struct.arrayClass().getComponentType().getSimpleName(), layout);
  }

  private static LayoutReport of(String type, StructLayout layout) {
    List<Primitive> primitives = new ArrayList<>();
    collect("", 0, layout, primitives);
    List<Component> components = new ArrayList<>();
    long padding = 0;
    for (int i = 0; i < primitives.size(); i++) {
      Primitive primitive = primitives.get(i);
      long size = primitive.layout.byteSize();
      boolean last = i + 1 == primitives.size();
      long next = last ? layout.byteSize() : primitives.get(i + 1).offset;
      long after = next - primitive.offset - size;
      padding += after;
      components.add(
          new Component(
              primitive.name,
              elementType(primitive.layout),
              primitive.offset,
              size,
              primitive.layout.byteAlignment(),
              after));
    }
    List<MemoryLayout> present = membersOf(layout);
    // Stable: components of one alignment stay in the order that their author chose.
    List<MemoryLayout> sorted =
        present.stream()
            .sorted(Comparator.comparingLong(MemoryLayout::byteAlignment).reversed())
            .toList();
    long suggested = sizeOf(sorted);
    return new LayoutReport(
        type,
        layout.byteSize(),
        layout.byteAlignment(),
        components,
        padding,
        (suggested < layout.byteSize() ? sorted : present)
            .stream().map(member -> member.name().orElseThrow()).toList(),
        suggested);
  }

  private record Primitive(String name, long offset, ValueLayout layout) {}

  private static void collect(
      String prefix, long start, StructLayout struct, List<Primitive> found) {
    long offset = start;
    for (MemoryLayout member : struct.memberLayouts()) {
      String name = prefix + member.name().orElse("");
      if (member instanceof StructLayout nested) {
        collect(name + ".", offset, nested, found);
      } else if (member instanceof ValueLayout value) {
        found.add(new Primitive(name, offset, value));
      }
      offset += member.byteSize();
    }
  }

  private static ElementType<?> elementType(ValueLayout layout) {
    return ElementType.ofArray(layout.carrier().arrayType()).orElseThrow();
  }

  private static List<MemoryLayout> membersOf(StructLayout struct) {
    return struct.memberLayouts().stream()
        .filter(member -> !(member instanceof PaddingLayout))
        .toList();
  }

  /** Bytes of a struct whose members stand by falling alignment. */
  private static long sizeOf(List<MemoryLayout> sorted) {
    long bytes = sorted.stream().mapToLong(MemoryLayout::byteSize).sum();
    return bytes + (-bytes & (sorted.getFirst().byteAlignment() - 1));
  }

  /** Bytes that the suggested order saves in each struct. */
  public long savedBytes() {
    return byteSize - suggestedByteSize;
  }

  /** Bytes of padding in a million structs. */
  public long paddingPerMillion() {
    return paddingBytes * MILLION;
  }

  /** Returns a table of the components and what lies between them, and the suggestion in words. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    text.append(
        String.format(
            Locale.ROOT,
            "%s: %d bytes, aligned to %d, %d of them padding (%.0f%%)%n",
            type,
            byteSize,
            alignment,
            paddingBytes,
            100.0 * paddingBytes / byteSize));
    text.append(String.format(Locale.ROOT, "%8s%6s%7s  %s%n", "offset", "size", "align", "name"));
    for (Component component : components) {
      text.append(
          String.format(
              Locale.ROOT,
              "%8d%6d%7d  %s%n",
              component.offset,
              component.byteSize,
              component.alignment,
              component.name));
      if (component.paddingAfter > 0) {
        text.append(
            String.format(
                Locale.ROOT,
                "%8d%6d%7s  %s%n",
                component.offset + component.byteSize,
                component.paddingAfter,
                "",
                "(padding)"));
      }
    }
    if (paddingBytes > 0) {
      text.append(
          String.format(
              Locale.ROOT, "a million of them hold %,d bytes of padding%n", paddingPerMillion()));
    }
    text.append(
        savedBytes() > 0
            ? String.format(
                Locale.ROOT,
                "in the order %s: %d bytes, %d less",
                String.join(", ", suggestedOrder),
                suggestedByteSize,
                savedBytes())
            : "no order of these components is smaller");
    return text.toString();
  }
}
