package dev.tidepool.methods.jvm;

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
import java.lang.constant.MethodTypeDesc;
import org.jspecify.annotations.Nullable;

/**
 * Writes loads and stores of elements. An argument is used as a view where the index is an int, and
 * as a segment where it is a long or the memory is too large for views.
 */
final class AccessWriter {
  private static final ClassDesc FAULT = JvmNames.of(KernelFault.class);
  private static final MethodTypeDesc COMPARE = MethodTypeDesc.of(CD_int, CD_int, CD_int);

  private final CodeBuilder code;
  private final Frame frame;
  private final BytecodeExpressionWriter expressions;
  private final boolean checked;
  private final boolean views;

  AccessWriter(
      CodeBuilder code,
      Frame frame,
      BytecodeExpressionWriter expressions,
      boolean checked,
      boolean views) {
    this.code = code;
    this.frame = frame;
    this.expressions = expressions;
    this.checked = checked;
    this.views = views;
  }

  /** Where generated code finds the elements of an argument. */
  static MemoryPlan.Slot slot(KernelArray.Argument array, ValueType index, boolean views) {
    return views && index == ValueType.INT
        ? new MemoryPlan.View(array.index(), array.kind())
        : new MemoryPlan.Segment(array.index());
  }

  /** Pushes an element. The array of a private or shared one is in a local variable. */
  void load(KernelArray array, int heapArray, KernelExpression index, @Nullable Site site) {
    ElementKind kind = array.kind();
    if (!(array instanceof KernelArray.Argument argument)) {
      Index at = index(array, index, site);
      code.aload(heapArray);
      at.pushInt();
      code.arrayLoad(JvmNames.element(kind));
      return;
    }
    Index at = index(array, index, site);
    MemoryPlan.Slot slot = slot(argument, index.type(), views);
    code.aload(frame.of(slot));
    if (slot instanceof MemoryPlan.View) {
      at.pushInt();
      code.invokevirtual(slot.type(), "get", MethodTypeDesc.of(element(kind), CD_int));
    } else {
      layout(kind);
      at.pushOffset(kind);
      code.invokeinterface(
          JvmNames.SEGMENT,
          "get",
          MethodTypeDesc.of(element(kind), JvmNames.layoutType(kind), CD_long));
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
    Index at = index(array, index, site);
    if (!(array instanceof KernelArray.Argument argument)) {
      code.aload(heapArray);
      at.pushInt();
      narrowed(kind, value);
      code.arrayStore(JvmNames.element(kind));
      return;
    }
    MemoryPlan.Slot slot = slot(argument, index.type(), views);
    code.aload(frame.of(slot));
    if (slot instanceof MemoryPlan.View) {
      at.pushInt();
      narrowed(kind, value);
      code.invokevirtual(slot.type(), "put", MethodTypeDesc.of(slot.type(), CD_int, element(kind)));
      code.pop();
    } else {
      layout(kind);
      at.pushOffset(kind);
      narrowed(kind, value);
      code.invokeinterface(
          JvmNames.SEGMENT,
          "set",
          MethodTypeDesc.of(CD_void, JvmNames.layoutType(kind), CD_long, element(kind)));
    }
  }

  /** Tests an index, and keeps it where computing it again would take longer. */
  Index index(KernelArray array, KernelExpression index, @Nullable Site site) {
    Site tested = checked ? site : null;
    boolean isKept =
        tested != null
            && !(index instanceof KernelExpression.Read
                || index instanceof KernelExpression.Constant);
    if (isKept) {
      expressions.push(index);
      code.istore(frame.intScratch());
    }
    Index at = new Index(index, isKept);
    if (tested != null) {
      Label inside = code.newLabel();
      at.pushInt();
      expressions.length(array);
      code.invokestatic(JvmNames.of(Integer.class), "compareUnsigned", COMPARE);
      code.iflt(inside);
      at.pushInt();
      expressions.length(array);
      code.loadConstant(tested.id());
      code.invokestatic(FAULT, "index", MethodTypeDesc.of(FAULT, CD_int, CD_int, CD_int));
      code.athrow().labelBinding(inside);
    }
    return at;
  }

  /** An index, pushed as often as needed. */
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
          // A long index is inside of its array: it has been tested in front of a loop.
          code.l2i();
        }
      }
    }

    /** Pushes the index in bytes. */
    private void pushOffset(ElementKind kind) {
      if (index.type() == ValueType.LONG) {
        expressions.push(index);
      } else {
        pushInt();
        code.i2l();
      }
      if (kind.bytes() > 1) {
        code.loadConstant(Integer.numberOfTrailingZeros(kind.bytes())).lshl();
      }
    }
  }

  private void layout(ElementKind kind) {
    code.getstatic(JvmNames.LAYOUT, JvmNames.layoutName(kind), JvmNames.layoutType(kind));
  }

  private static ClassDesc element(ElementKind kind) {
    TypeKind type = JvmNames.element(kind);
    return type.upperBound();
  }

  /** Pushes a value as an element has it. */
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
