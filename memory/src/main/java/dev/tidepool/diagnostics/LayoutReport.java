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
 * The memory layout of a record as a struct: the positions of its components, the padding, and an
 * order of components with the least padding.
 *
 * <p>Components are naturally aligned, as in C. The suggested order sorts them by alignment, the
 * largest first. Then no component needs padding before it, and only the end is padded. Nested
 * records are moved as a whole; they can have their own report.
 *
 * @param type the record's simple name
 * @param byteSize the bytes of one struct, including padding
 * @param alignment the alignment of one struct in bytes
 * @param components the primitives in memory order, including those of nested records
 * @param paddingBytes the bytes of padding in one struct
 * @param suggestedOrder the record's own components in the order with the least padding; the
 *     present order if it is as good
 * @param suggestedByteSize the bytes of one struct in the suggested order
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
   * @param name the name of the component; in nested records the names on the path to it, separated
   *     by dots
   * @param type the type of the component
   * @param offset the bytes from the start of the struct
   * @param byteSize the bytes of the component
   * @param alignment the alignment of the component in bytes
   * @param paddingAfter the bytes between the component and the next one, or the end of the struct
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
   * Returns the report for a record.
   *
   * @throws IllegalArgumentException if the record cannot be a struct; see {@link
   *     ElementType#struct(Class)}
   */
  public static LayoutReport of(Class<? extends Record> recordType) {
    return of(recordType.getSimpleName(), ElementType.structLayout(recordType));
  }

  /**
   * Returns the report for a struct type.
   *
   * @throws IllegalArgumentException if the elements are not structs
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
    // The sort is stable: components with the same alignment keep the author's order.
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

  /** Returns the bytes of a struct whose members are sorted by alignment, the largest first. */
  private static long sizeOf(List<MemoryLayout> sorted) {
    long bytes = sorted.stream().mapToLong(MemoryLayout::byteSize).sum();
    return bytes + (-bytes & (sorted.getFirst().byteAlignment() - 1));
  }

  /** Returns the bytes that the suggested order saves in each struct. */
  public long savedBytes() {
    return byteSize - suggestedByteSize;
  }

  /** Returns the bytes of padding in a million structs. */
  public long paddingPerMillion() {
    return paddingBytes * MILLION;
  }

  /** Returns a table of the components and the padding between them, and the suggestion. */
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
