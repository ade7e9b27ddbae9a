package dev.tidepool.host;

import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * Structs to columns and back for structs of up to eight words of 4 or 8 bytes, all columns in one
 * pass: as many structs as a vector has lanes are read, rearranged by a {@link VectorNetwork} and
 * written. A member of 8 bytes among others of 4 is two columns, which are put together.
 *
 * <p>Vectors must have 512 bits: processors with shorter ones lack the instruction that chooses
 * from two vectors, and the compiler has nothing good in its place.
 */
final class VectorTransposition {
  private static final int MOST_WORDS = 8;

  /** Until the compiler has seen a loop it is slower than any other way. */
  private static final long FEWEST_STRUCTS = 4096;

  /** Structs of one call of a loop, so that it runs as compiled as soon as it is. */
  private static final long STRUCTS_AT_ONCE = 1 << 10;

  private static final VectorShape SHAPE = VectorShape.S_512_BIT;
  private static final int VECTOR_BYTES = SHAPE.vectorBitSize() / Byte.SIZE;

  /** Moves structs from the one numbered {@code from} to before that numbered {@code to}. */
  @FunctionalInterface
  interface Loop {
    void run(MemorySegment structs, MemorySegment[] columns, long from, long to);
  }

  /** What one loop is. */
  private record Kind(int structBytes, List<StructFields.Member> members, boolean joins) {
    /** Bytes of a lane. */
    int lane() {
      return structBytes % Long.BYTES == 0
              && members.stream()
                  .allMatch(
                      member -> member.bytes() == Long.BYTES && member.offset() % Long.BYTES == 0)
          ? Long.BYTES
          : Integer.BYTES;
    }

    /** Lanes of a struct, and vectors of as many structs as a vector has lanes. */
    int width() {
      return structBytes / lane();
    }

    /** Lanes of a vector. */
    int lanes() {
      return VECTOR_BYTES / lane();
    }

    boolean fits() {
      return structBytes % lane() == 0
          && width() > 1
          && width() <= MOST_WORDS
          && members.stream().allMatch(StructFields.Member::isWords)
          && (!joins || StructFields.fill(structBytes, members));
    }
  }

  private final boolean able;
  private final Map<Kind, Loop> loops = new ConcurrentHashMap<>();

  VectorTransposition(int vectorBits) {
    this.able = vectorBits == SHAPE.vectorBitSize();
  }

  /** How many structs it moved to columns, or back: as many as fill whole vectors, or none. */
  long move(
      int structBytes,
      List<StructFields.Member> members,
      MemorySegment structs,
      MemorySegment[] columns,
      long count,
      boolean joins) {
    Kind kind = new Kind(structBytes, members, joins);
    if (!able || count < FEWEST_STRUCTS || !kind.fits()) {
      return 0;
    }
    Loop loop = loops.computeIfAbsent(kind, VectorTransposition::written);
    long whole = count - count % kind.lanes();
    for (long at = 0; at < whole; at += STRUCTS_AT_ONCE) {
      loop.run(structs, columns, at, Math.min(whole, at + STRUCTS_AT_ONCE));
    }
    return whole;
  }

  private static Loop written(Kind kind) {
    List<Stored> read = new ArrayList<>();
    Map<Stored, VectorNetwork.Value> written = new LinkedHashMap<>();
    plan(kind, read, written);
    List<Object> constants = new ArrayList<>();
    constants.add(kind.lane() == Integer.BYTES ? IntVector.SPECIES_512 : LongVector.SPECIES_512);
    constants.add(ByteOrder.nativeOrder());
    List<List<Integer>> places = VectorNetwork.places(written.values());
    places.forEach(list -> constants.add(vector(kind, list)));
    return WrittenLoop.define(
        Loop.class, constants, code -> new Writer(code, kind, places).write(read, written));
  }

  private static Vector<?> vector(Kind kind, List<Integer> places) {
    return kind.lane() == Integer.BYTES
        ? IntVector.fromArray(
            IntVector.SPECIES_512, places.stream().mapToInt(Integer::intValue).toArray(), 0)
        : LongVector.fromArray(
            LongVector.SPECIES_512, places.stream().mapToLong(Integer::longValue).toArray(), 0);
  }

  /**
   * One of the vectors that a step reads or writes.
   *
   * @param column that it is of; {@link #STRUCTS} if of none
   * @param number among those of the column, or of the structs
   */
  private record Stored(int column, int number) {
    static final int STRUCTS = -1;
  }

  /** What is read, in the order of the given values' numbers, and what is written. */
  private static void plan(Kind kind, List<Stored> read, Map<Stored, VectorNetwork.Value> written) {
    VectorNetwork network = new VectorNetwork(kind.lanes());
    List<Stored> structs = new ArrayList<>();
    for (int i = 0; i < kind.width(); i++) {
      structs.add(new Stored(Stored.STRUCTS, i));
    }
    List<VectorNetwork.Value> words =
        kind.joins ? new ArrayList<>() : network.split(VectorNetwork.given(0, kind.width()));
    VectorNetwork.Value[] joined = new VectorNetwork.Value[kind.width()];
    for (int column = 0; column < kind.members.size(); column++) {
      StructFields.Member member = kind.members.get(column);
      int first = (int) member.offset() / kind.lane();
      int vectors = (int) member.bytes() / kind.lane();
      if (kind.joins) {
        List<VectorNetwork.Value> given = VectorNetwork.given(read.size(), vectors);
        List<VectorNetwork.Value> parts = network.split(given);
        for (int i = 0; i < vectors; i++) {
          read.add(new Stored(column, i));
          joined[first + i] = parts.get(i);
        }
      } else {
        List<VectorNetwork.Value> parts = network.join(words.subList(first, first + vectors));
        for (int i = 0; i < vectors; i++) {
          written.put(new Stored(column, i), parts.get(i));
        }
      }
    }
    if (kind.joins) {
      List<VectorNetwork.Value> made = network.join(List.of(joined));
      structs.forEach(vector -> written.put(vector, made.get(vector.number)));
    } else {
      read.addAll(structs);
    }
  }

  /** Writes a loop. */
  private static final class Writer {
    private static final int STRUCTS = 1;
    private static final int COLUMNS = 2;
    private static final int AT = 3;
    private static final int TO = 5;
    private static final int FIRST_COLUMN = 7;

    private static final int SPECIES = 0;
    private static final int ORDER = 1;
    private static final int FIRST_PLACES = 2;

    private static final ClassDesc SEGMENT = WrittenLoop.describe(MemorySegment.class);
    private static final ClassDesc BYTE_ORDER = WrittenLoop.describe(ByteOrder.class);
    private static final ClassDesc ANY_VECTOR = WrittenLoop.describe(Vector.class);
    private static final MethodTypeDesc INTO =
        MethodTypeDesc.of(ConstantDescs.CD_void, SEGMENT, ConstantDescs.CD_long, BYTE_ORDER);

    private final CodeBuilder code;
    private final Kind kind;
    private final List<List<Integer>> places;
    private final Class<?> vectorClass;
    private final ClassDesc vector;
    private final IdentityHashMap<VectorNetwork.Value, Integer> locals = new IdentityHashMap<>();
    private int nextLocal;

    Writer(CodeBuilder code, Kind kind, List<List<Integer>> places) {
      this.code = code;
      this.kind = kind;
      this.places = places;
      this.vectorClass = kind.lane() == Integer.BYTES ? IntVector.class : LongVector.class;
      this.vector = WrittenLoop.describe(vectorClass);
      this.nextLocal = FIRST_COLUMN + kind.members.size();
    }

    void write(List<Stored> read, Map<Stored, VectorNetwork.Value> written) {
      for (int i = 0; i < kind.members.size(); i++) {
        code.aload(COLUMNS).loadConstant(i).aaload().astore(FIRST_COLUMN + i);
      }
      Label top = code.newLabel();
      Label out = code.newLabel();
      code.labelBinding(top).lload(AT).lload(TO).lcmp().ifge(out);
      List<Integer> given = new ArrayList<>();
      for (Stored stored : read) {
        WrittenLoop.constant(code, VectorSpecies.class, SPECIES);
        place(stored);
        WrittenLoop.constant(code, ByteOrder.class, ORDER);
        code.invokestatic(
            vector,
            "fromMemorySegment",
            MethodTypeDesc.of(
                vector,
                WrittenLoop.describe(VectorSpecies.class),
                SEGMENT,
                ConstantDescs.CD_long,
                BYTE_ORDER));
        given.add(nextLocal);
        code.astore(nextLocal++);
      }
      written.forEach(
          (stored, value) -> {
            code.aload(local(value, given));
            place(stored);
            WrittenLoop.constant(code, ByteOrder.class, ORDER);
            code.invokevirtual(vector, "intoMemorySegment", INTO);
          });
      code.lload(AT).loadConstant((long) kind.lanes()).ladd().lstore(AT);
      code.goto_(top).labelBinding(out);
    }

    /** Loads the segment and the offset of a vector. */
    private void place(Stored stored) {
      boolean structs = stored.column == Stored.STRUCTS;
      code.aload(structs ? STRUCTS : FIRST_COLUMN + stored.column);
      long bytes = structs ? kind.structBytes : kind.members.get(stored.column).bytes();
      code.lload(AT).loadConstant(bytes).lmul();
      code.loadConstant((long) stored.number * VECTOR_BYTES).ladd();
    }

    /** The local of a value, which is made when it is first asked for. */
    private int local(VectorNetwork.Value value, List<Integer> given) {
      return switch (value) {
        case VectorNetwork.Given(int number) -> given.get(number);
        case VectorNetwork.Chosen chosen -> {
          Integer known = locals.get(chosen);
          if (known != null) {
            yield known;
          }
          int left = local(chosen.left(), given);
          int right = local(chosen.right(), given);
          WrittenLoop.constant(code, vectorClass, FIRST_PLACES + places.indexOf(chosen.places()));
          code.aload(left).aload(right);
          code.invokevirtual(
              vector, "selectFrom", MethodTypeDesc.of(vector, ANY_VECTOR, ANY_VECTOR));
          code.astore(nextLocal);
          locals.put(chosen, nextLocal);
          yield nextLocal++;
        }
      };
    }
  }
}
