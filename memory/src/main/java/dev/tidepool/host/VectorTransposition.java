package dev.tidepool.host;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * Structs to columns and back for structs of up to eight elements of 4 or 8 bytes: each vector of a
 * column, or of structs, is chosen from the few vectors that its elements lie in. The loops are
 * made of {@link VectorChoice}.
 *
 * <p>Vectors must have 512 bits: processors with shorter ones lack the instruction that chooses
 * from two vectors, and the compiler has nothing good in its place.
 */
final class VectorTransposition {
  /** Until the compiler has seen a loop it is slower than any other way. */
  private static final long FEWEST_STRUCTS = 4096;

  /** Bytes of structs whose columns are made one after the other, while they are in the cache. */
  private static final long CHUNK_BYTES = 16 << 10;

  /** Makes vectors by choosing elements from others. */
  interface Choice {
    /**
     * Makes vectors, from the one numbered {@code from} to before that numbered {@code to}.
     *
     * @param sources whose vectors they are chosen from
     * @param sourceStep from the sources of one vector to those of the next
     * @param targetStep from one vector made to the next
     */
    void run(
        MemorySegment[] sources,
        long sourceStep,
        MemorySegment target,
        long targetStep,
        long from,
        long to);
  }

  /**
   * What one choice is.
   *
   * @param bytes of an element
   * @param width elements of a struct
   * @param part which column, or which vector of as many structs as a vector has lanes
   * @param joins whether vectors of structs are made from columns
   */
  private record Kind(int bytes, int width, int part, boolean joins) {}

  private final int vectorBytes;
  private final Map<Kind, Choice> choices = new ConcurrentHashMap<>();

  VectorTransposition(int vectorBits) {
    this.vectorBytes = vectorBits / Byte.SIZE;
  }

  long split(
      int structBytes,
      List<StructFields.Member> members,
      MemorySegment structs,
      MemorySegment[] columns,
      long count) {
    if (!pays(count) || !members.stream().allMatch(member -> fits(member, structBytes))) {
      return 0;
    }
    long whole = count - count % (vectorBytes / Integer.BYTES);
    Choice[] choices = new Choice[columns.length];
    MemorySegment[] sources = new MemorySegment[VectorChoice.MOST_SOURCES];
    for (int i = 0; i < VectorChoice.MOST_SOURCES; i++) {
      sources[i] = structs.asSlice((long) i * vectorBytes);
    }
    for (int i = 0; i < columns.length; i++) {
      int bytes = (int) members.get(i).bytes();
      choices[i] =
          choice(
              new Kind(bytes, structBytes / bytes, (int) members.get(i).offset() / bytes, false));
    }
    long step = chunk(structBytes);
    for (long at = 0; at < whole; at += step) {
      long end = Math.min(whole, at + step);
      for (int i = 0; i < columns.length; i++) {
        int bytes = (int) members.get(i).bytes();
        long lanes = vectorBytes / bytes;
        choices[i].run(
            sources, structBytes * lanes, columns[i], vectorBytes, at / lanes, end / lanes);
      }
    }
    return whole;
  }

  long join(
      int structBytes,
      List<StructFields.Member> members,
      MemorySegment[] columns,
      MemorySegment structs,
      long count) {
    int bytes = (int) members.getFirst().bytes();
    if (!pays(count)
        || (long) bytes * members.size() != structBytes
        || !members.stream()
            .allMatch(member -> member.bytes() == bytes && fits(member, structBytes))) {
      return 0;
    }
    int lanes = vectorBytes / bytes;
    long whole = count - count % lanes;
    Choice[] choices = new Choice[columns.length];
    MemorySegment[] targets = new MemorySegment[columns.length];
    for (int i = 0; i < columns.length; i++) {
      choices[i] = choice(new Kind(bytes, columns.length, i, true));
      targets[i] = structs.asSlice((long) i * vectorBytes);
    }
    long step = chunk(structBytes);
    for (long at = 0; at < whole; at += step) {
      long end = Math.min(whole, at + step);
      for (int i = 0; i < columns.length; i++) {
        choices[i].run(
            columns, vectorBytes, targets[i], (long) structBytes * lanes, at / lanes, end / lanes);
      }
    }
    return whole;
  }

  private boolean pays(long count) {
    return count >= FEWEST_STRUCTS
        && vectorBytes * Byte.SIZE == VectorShape.S_512_BIT.vectorBitSize();
  }

  /** Structs that are done at once, as many as fill whole vectors. */
  private long chunk(int structBytes) {
    int lanes = vectorBytes / Integer.BYTES;
    return Math.max(1, CHUNK_BYTES / structBytes / lanes) * lanes;
  }

  private static boolean fits(StructFields.Member member, int structBytes) {
    long bytes = member.bytes();
    return (bytes == Integer.BYTES || bytes == Long.BYTES)
        && member.offset() % bytes == 0
        && structBytes % bytes == 0
        && structBytes > bytes
        && structBytes / bytes <= VectorChoice.MOST_SOURCES;
  }

  private Choice choice(Kind kind) {
    return choices.computeIfAbsent(kind, this::made);
  }

  private Choice made(Kind kind) {
    int lanes = vectorBytes / kind.bytes;
    int[] sources = new int[lanes];
    int[] elements = new int[lanes];
    for (int lane = 0; lane < lanes; lane++) {
      if (kind.joins) {
        int element = kind.part * lanes + lane;
        sources[lane] = element % kind.width;
        elements[lane] = element / kind.width;
      } else {
        int element = lane * kind.width + kind.part;
        sources[lane] = element / lanes;
        elements[lane] = element % lanes;
      }
    }
    Class<?> element = kind.bytes == Integer.BYTES ? int.class : long.class;
    return Template.specialise(
        VectorChoice.class,
        Choice.class,
        new VectorChoice.Constants(
            VectorSpecies.of(element, VectorShape.S_512_BIT), kind.width, sources, elements));
  }
}
