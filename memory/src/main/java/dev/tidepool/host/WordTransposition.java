package dev.tidepool.host;

import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Structs of members of 4 and 8 bytes to columns and back, all columns in one pass: memory is read
 * and written in words of 8 bytes alone. Where members have 4, two structs go at once, and each
 * word of a column is put together from both.
 *
 * <p>These are the loops without the Vector API: all else is as fast through blocks of the heap.
 * They work by direct buffers, which end with their segments, as safely.
 */
final class WordTransposition implements SegmentLoops {
  /** Until the compiler has seen a loop it is slower than any other way. */
  static final long FEWEST_STRUCTS = 1 << 14;

  /** Bytes of structs of one call of a loop, so that it runs as compiled as soon as it is. */
  private static final int BYTES_AT_ONCE = 1 << 18;

  /** Bytes of structs under one set of buffers, which count them in ints. */
  private static final long MOST_IN_A_BUFFER = 1 << 30;

  /** More buffers and words would not stay in registers. */
  private static final int MOST_COLUMNS = 8;

  private static final int MOST_WORDS = 16;

  private static final long LOW = 0xffff_ffffL;

  private static final ClassDesc BUFFER = WrittenLoop.describe(LongBuffer.class);
  private static final MethodTypeDesc GET =
      MethodTypeDesc.of(ConstantDescs.CD_long, ConstantDescs.CD_int);
  private static final MethodTypeDesc PUT =
      MethodTypeDesc.of(BUFFER, ConstantDescs.CD_int, ConstantDescs.CD_long);

  /** Moves groups of structs, from the one numbered {@code from} to before that {@code to}. */
  @FunctionalInterface
  interface Loop {
    void run(LongBuffer structs, LongBuffer[] columns, int from, int to);
  }

  /** What one loop is. */
  private record Kind(int structBytes, List<StructFields.Member> members, boolean joins) {
    /** Structs that are moved at once. */
    int group() {
      boolean words = members.stream().allMatch(member -> member.bytes() == Long.BYTES);
      return words && structBytes % Long.BYTES == 0 ? 1 : 2;
    }

    /** Words of a group. */
    int words() {
      return structBytes * group() / Long.BYTES;
    }

    /** Words of a column in a group: one, but for two structs with a member of 8 bytes. */
    int columnWords(int column) {
      return (int) members.get(column).bytes() * group() / Long.BYTES;
    }

    /** Where the half of a column's word lies in the group, counted in halves. */
    int place(int column, int half) {
      StructFields.Member member = members.get(column);
      int halves = (int) member.bytes() / Integer.BYTES;
      return (half / halves * structBytes + (int) member.offset()) / Integer.BYTES + half % halves;
    }

    boolean fits() {
      return members.size() <= MOST_COLUMNS
          && structBytes * group() % Long.BYTES == 0
          && words() <= MOST_WORDS
          && members.stream().allMatch(StructFields.Member::isWords)
          && (!joins || StructFields.fill(structBytes, members));
    }
  }

  private final Map<Kind, Loop> loops = new ConcurrentHashMap<>();

  @Override
  public long move(
      int structBytes,
      List<StructFields.Member> members,
      MemorySegment structs,
      MemorySegment[] columns,
      long count,
      boolean joins) {
    Kind kind = new Kind(structBytes, members, joins);
    if (count < FEWEST_STRUCTS || !kind.fits()) {
      return 0;
    }
    Loop loop = loops.computeIfAbsent(kind, WordTransposition::written);
    int group = kind.group();
    long whole = count - count % group;
    long most = MOST_IN_A_BUFFER / structBytes / group * group;
    int step = Math.max(1, BYTES_AT_ONCE / structBytes / group);
    for (long first = 0; first < whole; first += most) {
      long length = Math.min(most, whole - first);
      LongBuffer all = words(structs, first * structBytes, length * structBytes, !joins);
      LongBuffer[] parts = new LongBuffer[columns.length];
      for (int i = 0; i < columns.length; i++) {
        long bytes = members.get(i).bytes();
        parts[i] = words(columns[i], first * bytes, length * bytes, joins);
      }
      int groups = (int) (length / group);
      for (int at = 0; at < groups; at += step) {
        loop.run(all, parts, at, Math.min(groups, at + step));
      }
    }
    return whole;
  }

  /** All that are read are read-only, so that a loop meets one class of buffers. */
  private static LongBuffer words(MemorySegment segment, long offset, long bytes, boolean read) {
    MemorySegment part = segment.asSlice(offset, bytes);
    return (read ? part.asReadOnly() : part)
        .asByteBuffer()
        .order(ByteOrder.LITTLE_ENDIAN)
        .asLongBuffer();
  }

  private static Loop written(Kind kind) {
    return WrittenLoop.define(Loop.class, List.of(), code -> new Writer(code, kind).write());
  }

  /** Four bytes of a word that is in a local. */
  private record Half(int local, boolean second) {}

  /** Writes a loop: in each step all words are read before the first is written. */
  private record Writer(CodeBuilder code, Kind kind) {
    private static final int STRUCTS = 1;
    private static final int COLUMNS = 2;
    private static final int INDEX = 3;
    private static final int END = 4;
    private static final int PLACE = 5;
    private static final int FIRST_COLUMN = 6;

    void write() {
      for (int i = 0; i < kind.members.size(); i++) {
        code.aload(COLUMNS).loadConstant(i).aaload().astore(FIRST_COLUMN + i);
      }
      WrittenLoop.count(
          code,
          INDEX,
          END,
          () -> {
            code.iload(INDEX).loadConstant(kind.words()).imul().istore(PLACE);
            if (kind.joins) {
              join();
            } else {
              split();
            }
          });
    }

    private void split() {
      int local = FIRST_COLUMN + kind.members.size();
      Half[] halves = new Half[2 * kind.words()];
      for (int word = 0; word < kind.words(); word++) {
        structWord(word).invokevirtual(BUFFER, "get", GET).lstore(local);
        halves[2 * word] = new Half(local, false);
        halves[2 * word + 1] = new Half(local, true);
        local += 2;
      }
      for (int column = 0; column < kind.members.size(); column++) {
        for (int word = 0; word < kind.columnWords(column); word++) {
          columnWord(column, word);
          combine(halves[kind.place(column, 2 * word)], halves[kind.place(column, 2 * word + 1)]);
          code.invokevirtual(BUFFER, "put", PUT).pop();
        }
      }
    }

    private void join() {
      int local = FIRST_COLUMN + kind.members.size();
      Half[] halves = new Half[2 * kind.words()];
      for (int column = 0; column < kind.members.size(); column++) {
        for (int word = 0; word < kind.columnWords(column); word++) {
          columnWord(column, word).invokevirtual(BUFFER, "get", GET).lstore(local);
          halves[kind.place(column, 2 * word)] = new Half(local, false);
          halves[kind.place(column, 2 * word + 1)] = new Half(local, true);
          local += 2;
        }
      }
      for (int word = 0; word < kind.words(); word++) {
        structWord(word);
        combine(halves[2 * word], halves[2 * word + 1]);
        code.invokevirtual(BUFFER, "put", PUT).pop();
      }
    }

    /** Loads the buffer of structs and the place of a word of this step. */
    private CodeBuilder structWord(int word) {
      return code.aload(STRUCTS).iload(PLACE).loadConstant(word).iadd();
    }

    /** Loads a column's buffer and the place of a word of this step. */
    private CodeBuilder columnWord(int column, int word) {
      code.aload(FIRST_COLUMN + column).iload(INDEX);
      return kind.columnWords(column) == 1
          ? code
          : code.iconst_1().ishl().loadConstant(word).iadd();
    }

    /** A word of two halves. */
    private void combine(Half first, Half second) {
      code.lload(first.local);
      if (first.local == second.local && !first.second && second.second) {
        return;
      }
      if (first.second) {
        code.loadConstant(Integer.SIZE).lushr();
      } else {
        code.loadConstant(LOW).land();
      }
      code.lload(second.local);
      if (second.second) {
        code.loadConstant(~LOW).land();
      } else {
        code.loadConstant(Integer.SIZE).lshl();
      }
      code.lor();
    }
  }
}
