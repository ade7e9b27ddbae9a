package dev.tidepool.host;

import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.List;

/**
 * Writes loops from one direct buffer to another. A step takes several elements, and loads all of
 * them before it stores the first: the compiler, which cannot know that two buffers share no byte,
 * keeps that order.
 */
final class BufferMap {
  /** Elements of a step. */
  static final int STEP = 4;

  /** A loop over the first elements, as many as fill whole steps. */
  @FunctionalInterface
  interface Loop {
    void run(MemorySegment source, MemorySegment target, int count);
  }

  private static final ClassDesc SEGMENT = WrittenLoop.describe(MemorySegment.class);
  private static final ClassDesc BYTES = WrittenLoop.describe(ByteBuffer.class);
  private static final ClassDesc ORDER = WrittenLoop.describe(ByteOrder.class);

  private static final int SOURCE = 1;
  private static final int TARGET = 2;
  private static final int COUNT = 3;
  private static final int INDEX = 4;
  private static final int FIRST = 5;

  private BufferMap() {}

  /** Whether there is a loop: shorter elements are no faster than through the heap. */
  static boolean converts(Primitive from, Primitive to) {
    return from.bytes() >= Integer.BYTES && to.bytes() >= Integer.BYTES;
  }

  /** A loop that converts elements, or swaps their bytes if they have one type. */
  static Loop of(Primitive from, Primitive to) {
    return WrittenLoop.define(Loop.class, List.of(), code -> write(code, from, to));
  }

  private static void write(CodeBuilder code, Primitive from, Primitive to) {
    ClassDesc read = WrittenLoop.describe(from.elementClass());
    ClassDesc written = WrittenLoop.describe(to.elementClass());
    ClassDesc source = WrittenLoop.describe(buffer(from));
    ClassDesc target = WrittenLoop.describe(buffer(to));
    TypeKind kind = TypeKind.from(read);
    view(code, SOURCE, source);
    view(code, TARGET, target);
    code.iconst_0().istore(INDEX);
    WrittenLoop.count(
        code,
        INDEX,
        COUNT,
        STEP,
        () -> {
          for (int i = 0; i < STEP; i++) {
            code.aload(SOURCE).iload(INDEX).loadConstant(i).iadd();
            code.invokevirtual(source, "get", MethodTypeDesc.of(read, ConstantDescs.CD_int));
            code.storeLocal(kind, FIRST + i * kind.slotSize());
          }
          for (int i = 0; i < STEP; i++) {
            code.aload(TARGET).iload(INDEX).loadConstant(i).iadd();
            code.loadLocal(kind, FIRST + i * kind.slotSize());
            if (from == to) {
              code.invokestatic(
                  from == Primitive.INT ? ConstantDescs.CD_Integer : ConstantDescs.CD_Long,
                  "reverseBytes",
                  MethodTypeDesc.of(read, read));
            } else {
              code.conversion(kind, TypeKind.from(written));
            }
            code.invokevirtual(
                target, "put", MethodTypeDesc.of(target, ConstantDescs.CD_int, written));
            code.pop();
          }
        });
  }

  private static void view(CodeBuilder code, int local, ClassDesc buffer) {
    code.aload(local);
    code.invokeinterface(SEGMENT, "asByteBuffer", MethodTypeDesc.of(BYTES));
    code.invokestatic(ORDER, "nativeOrder", MethodTypeDesc.of(ORDER));
    code.invokevirtual(BYTES, "order", MethodTypeDesc.of(BYTES, ORDER));
    code.invokevirtual(BYTES, "as" + buffer.displayName(), MethodTypeDesc.of(buffer));
    code.astore(local);
  }

  private static Class<? extends Buffer> buffer(Primitive type) {
    return switch (type) {
      case INT -> IntBuffer.class;
      case LONG -> LongBuffer.class;
      case FLOAT -> FloatBuffer.class;
      case DOUBLE -> DoubleBuffer.class;
      default -> throw new IllegalArgumentException("no loop over elements of " + type);
    };
  }
}
