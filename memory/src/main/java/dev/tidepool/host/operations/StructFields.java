package dev.tidepool.host.operations;

import dev.tidepool.ElementType;
import dev.tidepool.diagnostics.LayoutReport;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.StructLayout;
import java.util.ArrayList;
import java.util.List;

/** Moves fields between arrays of structs and arrays of single fields. Makes all checks before. */
public final class StructFields {
  /**
   * A member of structs, which has a column of its own.
   *
   * @param offset of the member in the struct, in bytes
   * @param bytes of the member
   */
  record Member(long offset, long bytes) {}

  private StructFields() {}

  /** Returns whether the members cover all bytes of a struct, without padding or gaps. */
  static boolean fill(int structBytes, List<Member> members) {
    return members.stream().mapToLong(Member::bytes).sum() == structBytes;
  }

  public static void read(
      MemorySegment structs,
      long structBytes,
      long fieldOffset,
      long fieldBytes,
      MemorySegment column) {
    OperandChecks.movable(fieldBytes, structs, column);
    field(structBytes, fieldOffset, fieldBytes);
    long count = OperandChecks.elements("segment of structs", structs, structBytes);
    OperandChecks.fits("column", column, count, fieldBytes);
    OperandChecks.apart(structs, OperandChecks.front(column, count * fieldBytes));
    OperandChecks.touching(
        structs,
        column,
        () ->
            new GatherScatter(count)
                .move(
                    fieldBytes,
                    structs,
                    GatherScatter.every(structBytes, fieldOffset),
                    column,
                    GatherScatter.every(fieldBytes, 0),
                    count));
  }

  public static void write(
      MemorySegment column,
      MemorySegment structs,
      long structBytes,
      long fieldOffset,
      long fieldBytes) {
    OperandChecks.movable(fieldBytes, column, structs);
    field(structBytes, fieldOffset, fieldBytes);
    long count = OperandChecks.elements("column", column, fieldBytes);
    OperandChecks.fits("segment of structs", structs, count, structBytes);
    OperandChecks.apart(column, OperandChecks.front(structs, count * structBytes));
    OperandChecks.touching(
        column,
        structs,
        () ->
            new GatherScatter(count)
                .move(
                    fieldBytes,
                    column,
                    GatherScatter.every(fieldBytes, 0),
                    structs,
                    GatherScatter.every(structBytes, fieldOffset),
                    count));
  }

  public static void split(ElementType<?> struct, MemorySegment structs, MemorySegment... columns) {
    OperandChecks.readable("segment of structs", structs);
    long count = OperandChecks.elements("segment of structs", structs, struct.byteSize());
    List<Member> members = members(struct, columns);
    for (int i = 0; i < columns.length; i++) {
      OperandChecks.writable("column " + i, columns[i]);
      OperandChecks.fits("column " + i, columns[i], count, members.get(i).bytes());
      OperandChecks.apart(structs, columns[i]);
      for (int other = 0; other < i; other++) {
        OperandChecks.apart(columns[other], columns[i]);
      }
    }
    OperandChecks.touching(
        structs,
        anyNative(columns),
        () -> new SoaCopy(struct.byteSize(), members, count).split(structs, columns));
  }

  public static void join(ElementType<?> struct, MemorySegment structs, MemorySegment... columns) {
    OperandChecks.writable("segment of structs", structs);
    List<Member> members = members(struct, columns);
    OperandChecks.readable("column 0", columns[0]);
    long count = OperandChecks.elements("column 0", columns[0], members.getFirst().bytes());
    OperandChecks.fits("segment of structs", structs, count, struct.byteSize());
    for (int i = 0; i < columns.length; i++) {
      OperandChecks.readable("column " + i, columns[i]);
      OperandChecks.fits("column " + i, columns[i], count, members.get(i).bytes());
      OperandChecks.apart(columns[i], structs);
    }
    OperandChecks.touching(
        structs,
        anyNative(columns),
        () -> new SoaCopy(struct.byteSize(), members, count).join(columns, structs));
  }

  /** Returns the members of a struct, without its padding. */
  private static List<Member> members(StructLayout struct) {
    List<Member> members = new ArrayList<>();
    long offset = 0;
    for (MemoryLayout layout : struct.memberLayouts()) {
      if (!(layout instanceof PaddingLayout)) {
        members.add(new Member(offset, layout.byteSize()));
      }
      offset += layout.byteSize();
    }
    return members;
  }

  private static List<Member> members(ElementType<?> struct, MemorySegment[] columns) {
    if (!(struct.layout() instanceof StructLayout layout)) {
      throw new IllegalArgumentException(struct + " elements have no components");
    }
    List<Member> members = members(layout);
    if (members.size() == columns.length) {
      return members;
    }
    List<Member> primitives =
        LayoutReport.of(struct).components().stream()
            .map(component -> new Member(component.offset(), component.byteSize()))
            .toList();
    if (primitives.size() == columns.length) {
      return primitives;
    }
    throw new IllegalArgumentException(
        members.size() == primitives.size()
            ? "%s columns for the %s components of %s"
                .formatted(columns.length, members.size(), struct)
            : "%s columns for the %s components of %s, or the %s primitives that they are made of"
                .formatted(columns.length, members.size(), struct, primitives.size()));
  }

  /** Returns a native column if there is one, otherwise the first column. */
  private static MemorySegment anyNative(MemorySegment[] columns) {
    for (MemorySegment column : columns) {
      if (column.isNative()) {
        return column;
      }
    }
    return columns[0];
  }

  private static void field(long structBytes, long fieldOffset, long fieldBytes) {
    if (structBytes <= 0 || fieldOffset < 0 || fieldBytes > structBytes - fieldOffset) {
      throw new IllegalArgumentException(
          "a field of %s bytes at offset %s is not within a struct of %s bytes"
              .formatted(fieldBytes, fieldOffset, structBytes));
    }
  }
}
