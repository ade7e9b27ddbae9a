package dev.tidepool.methods.jvm;

import static java.lang.constant.ConstantDescs.CD_MethodHandle;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.Site;
import dev.tidepool.methods.tree.ValueType;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.MethodHandleDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes loads and stores of elements. With an int index, an argument in held memory is accessed by
 * its address, through {@link AllMemory}, and any other argument as a segment, through {@link
 * ForeignMemory}. With a long index, an argument is accessed as a segment: the index has been
 * tested in front of a loop.
 *
 * <p>An access throws if the index is outside of the array. For private and shared arrays, a
 * handler for each access, after the code, throws a fault with the place in the source.
 */
final class AccessWriter {
  private static final ClassDesc FAULT = JvmNames.of(KernelFault.class);
  private static final ClassDesc ALL_MEMORY = JvmNames.of(AllMemory.class);
  private static final ClassDesc FOREIGN_MEMORY = JvmNames.of(ForeignMemory.class);
  private static final ClassDesc OUTSIDE = JvmNames.of(IndexOutOfBoundsException.class);

  private final CodeBuilder code;
  private final Frame frame;
  private final BytecodeExpressionWriter expressions;
  private final boolean addresses;
  private final List<Handler> handlers = new ArrayList<>();

  /** Code that throws if an index is outside of an array. */
  private record Handler(Label from, Label to, Index index, KernelArray array, Site site) {}

  AccessWriter(
      CodeBuilder code, Frame frame, BytecodeExpressionWriter expressions, boolean addresses) {
    this.code = code;
    this.frame = frame;
    this.expressions = expressions;
    this.addresses = addresses;
  }

  /** Pushes an element. A private or shared array is in the local variable {@code heapArray}. */
  void load(KernelArray array, int heapArray, KernelExpression index, @Nullable Site site) {
    ElementKind kind = array.kind();
    if (!(array instanceof KernelArray.Argument argument)) {
      Index at = index(index, site);
      code.aload(heapArray);
      at.pushInt();
      guarded(array, at, site, () -> code.arrayLoad(JvmNames.element(kind)));
      return;
    }
    if (index.type() == ValueType.INT) {
      MethodTypeDesc get =
          addresses
              ? MethodTypeDesc.of(element(kind), CD_long, CD_int, CD_int, CD_int)
              : MethodTypeDesc.of(element(kind), JvmNames.SEGMENT, CD_int, CD_int);
      pushAccess(getter(kind), get);
      pushElement(argument, index, site);
      code.invokevirtual(CD_MethodHandle, "invokeExact", get);
    } else {
      pushTested(argument, index);
      MethodTypeDesc get = MethodTypeDesc.of(element(kind), JvmNames.layoutType(kind), CD_long);
      code.invokeinterface(JvmNames.SEGMENT, "get", get);
    }
    if (kind == ElementKind.BOOLEAN) {
      // (b | -b) >>> 31: 1 for all but 0, without a branch.
      code.dup().ineg().ior().bipush(31).iushr();
    }
  }

  /** Stores an element. */
  void store(
      KernelArray array,
      int heapArray,
      KernelExpression index,
      KernelExpression value,
      @Nullable Site site) {
    ElementKind kind = array.kind();
    if (!(array instanceof KernelArray.Argument argument)) {
      Index at = index(index, site);
      code.aload(heapArray);
      at.pushInt();
      narrowed(kind, value);
      guarded(array, at, site, () -> code.arrayStore(JvmNames.element(kind)));
      return;
    }
    if (index.type() == ValueType.INT) {
      MethodTypeDesc put =
          addresses
              ? MethodTypeDesc.of(CD_void, CD_long, CD_int, CD_int, CD_int, element(kind))
              : MethodTypeDesc.of(CD_void, JvmNames.SEGMENT, CD_int, CD_int, element(kind));
      pushAccess("put", put);
      pushElement(argument, index, site);
      narrowed(kind, value);
      code.invokevirtual(CD_MethodHandle, "invokeExact", put);
    } else {
      pushTested(argument, index);
      narrowed(kind, value);
      MethodTypeDesc set =
          MethodTypeDesc.of(CD_void, JvmNames.layoutType(kind), CD_long, element(kind));
      code.invokeinterface(JvmNames.SEGMENT, "set", set);
    }
  }

  /** Returns whether an element is accessed by the address of the array. */
  static boolean usesAddress(ValueType index, boolean addresses) {
    return addresses && index == ValueType.INT;
  }

  private static String getter(ElementKind kind) {
    return switch (kind) {
      case BOOLEAN, BYTE -> "getByte";
      case SHORT -> "getShort";
      case INT -> "getInt";
      case LONG -> "getLong";
      case FLOAT -> "getFloat";
      case DOUBLE -> "getDouble";
    };
  }

  /**
   * Pushes the handle of a method that accesses an element. In a long kernel HotSpot stops inlining
   * after some 25 plain calls of such methods, but not after calls of constant handles: it inlines
   * those after all others, when it knows how little is left of each.
   */
  private void pushAccess(String name, MethodTypeDesc type) {
    ClassDesc owner = addresses ? ALL_MEMORY : FOREIGN_MEMORY;
    code.ldc(MethodHandleDesc.ofMethod(DirectMethodHandleDesc.Kind.STATIC, owner, name, type));
  }

  /** Pushes the first arguments of the methods of {@link AllMemory} or {@link ForeignMemory}. */
  private void pushElement(
      KernelArray.Argument array, KernelExpression index, @Nullable Site site) {
    if (addresses) {
      code.lload(frame.of(new MemoryPlan.Scalar(array.index(), MemoryPlan.Scalar.Use.ADDRESS)));
    } else {
      code.aload(frame.of(new MemoryPlan.Segment(array.index())));
    }
    expressions.push(index);
    if (addresses) {
      expressions.length(array);
    }
    code.loadConstant(site == null ? KernelFault.NOWHERE : site.id());
  }

  /** Pushes a segment, and the layout and offset of an element whose index has been tested. */
  private void pushTested(KernelArray.Argument array, KernelExpression index) {
    ElementKind kind = array.kind();
    code.aload(frame.of(new MemoryPlan.Segment(array.index())));
    code.getstatic(JvmNames.LAYOUT, JvmNames.layoutName(kind), JvmNames.layoutType(kind));
    expressions.push(index);
    if (kind.bytes() > 1) {
      code.loadConstant(Integer.numberOfTrailingZeros(kind.bytes())).lshl();
    }
  }

  /** Prepares an index for an access, and for the message if the access throws. */
  Index index(KernelExpression index, @Nullable Site site) {
    boolean isKept =
        site != null
            && !(index instanceof KernelExpression.Read
                || index instanceof KernelExpression.Constant);
    if (isKept) {
      expressions.push(index);
      code.istore(frame.intScratch());
    }
    return new Index(index, isKept);
  }

  /** Writes an access that throws if the index is outside of the array. */
  void guarded(KernelArray array, Index index, @Nullable Site site, Runnable access) {
    Label from = code.newBoundLabel();
    access.run();
    if (site != null) {
      handlers.add(new Handler(from, code.newBoundLabel(), index, array, site));
    }
  }

  /** Writes the handlers that throw faults, after the end of the code. */
  void writeFaults() {
    for (Handler handler : handlers) {
      Label start = code.newBoundLabel();
      code.pop();
      handler.index().pushInt();
      expressions.length(handler.array());
      code.loadConstant(handler.site().id());
      code.invokestatic(FAULT, "index", MethodTypeDesc.of(FAULT, CD_int, CD_int, CD_int)).athrow();
      code.exceptionCatch(handler.from(), handler.to(), start, OUTSIDE);
    }
  }

  /** An index that can be pushed several times. */
  final class Index {
    private final KernelExpression index;
    private final boolean isKept;

    private Index(KernelExpression index, boolean isKept) {
      this.index = index;
      this.isKept = isKept;
    }

    void pushInt() {
      if (isKept) {
        code.iload(frame.intScratch());
      } else {
        expressions.push(index);
        if (index.type() == ValueType.LONG) {
          // A long index is within its array: it has been tested in front of a loop.
          code.l2i();
        }
      }
    }
  }

  private static ClassDesc element(ElementKind kind) {
    TypeKind type = JvmNames.element(kind);
    return type.upperBound();
  }

  /** Pushes a value narrowed to the type of an element. */
  private void narrowed(ElementKind kind, KernelExpression value) {
    expressions.push(value);
    switch (kind) {
      case BOOLEAN -> code.iconst_1().iand();
      case BYTE -> code.i2b();
      case SHORT -> code.i2s();
      default -> {}
    }
  }
}
