package dev.tidepool.methods.jvm;

import dev.tidepool.expression.types.Known;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.HashMap;
import java.util.Map;

/**
 * The local variables of a generated method, and the slots of the virtual machine's frame that hold
 * them.
 */
final class Frame {
  /** Parameters of the method. */
  static final int MEMORY = 1;

  static final int SCALARS = 2;
  static final int BOX = 3;

  private final CodeBuilder code;
  private final Map<MemoryPlan.Slot, Integer> memory = new HashMap<>();
  private final Map<MemoryPlan.Scalar, Integer> scalars = new HashMap<>();
  private final Map<Integer, Integer> variables = new HashMap<>();
  private final Map<Integer, Integer> box = new HashMap<>();

  /** The first item of dimension 0, as a long and as an int. */
  final int first;

  final int firstInt;

  /** The number of items in dimension 0. */
  final int count;

  /** The item minus the first item, in dimension 0; an int. */
  final int column;

  /** The item in dimension 1 and 2; a long. */
  final int row;

  final int layer;

  /** The number of the row's first item in the box; an int. */
  final int rowStart;

  private final int intScratch;
  private final int longScratch;

  Frame(CodeBuilder code) {
    this.code = code;
    first = code.allocateLocal(TypeKind.LONG);
    firstInt = code.allocateLocal(TypeKind.INT);
    count = code.allocateLocal(TypeKind.INT);
    column = code.allocateLocal(TypeKind.INT);
    row = code.allocateLocal(TypeKind.LONG);
    layer = code.allocateLocal(TypeKind.LONG);
    rowStart = code.allocateLocal(TypeKind.INT);
    intScratch = code.allocateLocal(TypeKind.INT);
    longScratch = code.allocateLocal(TypeKind.LONG);
  }

  /** Loads the arrays and scalars of the plan, and the numbers of the box. */
  void load(MemoryPlan plan) {
    for (int i = 0; i < plan.slots().size(); i++) {
      MemoryPlan.Slot slot = plan.slots().get(i);
      int local = code.allocateLocal(TypeKind.REFERENCE);
      memory.put(slot, local);
      code.aload(MEMORY).loadConstant(i).aaload().checkcast(slot.type()).astore(local);
    }
    for (int i = 0; i < plan.scalars().size(); i++) {
      MemoryPlan.Scalar scalar = plan.scalars().get(i);
      code.aload(SCALARS).loadConstant(i).laload();
      fromBits(plan.type(scalar));
      switch (scalar.use()) {
        case VALUE -> {}
        // HotSpot removes tests of lengths that it knows not to be negative.
        case LENGTH -> code.loadConstant(Integer.MAX_VALUE).iand();
        // It also removes tests of sums with an offset that it knows not to overflow. No address is
        // larger.
        case ADDRESS -> code.loadConstant(Long.MAX_VALUE >> 2).land();
      }
      TypeKind kind = JvmNames.kind(plan.type(scalar));
      int local = code.allocateLocal(kind);
      scalars.put(scalar, local);
      code.storeLocal(kind, local);
    }
    fromBox(Box.FROM, first);
    code.lload(first).l2i().istore(firstInt);
    code.aload(BOX).loadConstant(Box.TO).laload().lload(first).lsub().l2i().istore(count);
  }

  private void fromBits(ValueType type) {
    switch (type) {
      case INT -> code.l2i();
      case LONG -> {}
      case FLOAT ->
          code.l2i()
              .invokestatic(
                  JvmNames.of(Float.class),
                  "intBitsToFloat",
                  MethodTypeDesc.of(ConstantDescs.CD_float, ConstantDescs.CD_int));
      case DOUBLE ->
          code.invokestatic(
              JvmNames.of(Double.class),
              "longBitsToDouble",
              MethodTypeDesc.of(ConstantDescs.CD_double, ConstantDescs.CD_long));
    }
  }

  /** Loads a number of the box into a local variable. */
  void fromBox(int index, int local) {
    code.aload(BOX).loadConstant(index).laload().lstore(local);
  }

  /** Returns the local variable of a slot. */
  int of(MemoryPlan.Slot slot) {
    return Known.in(memory, slot);
  }

  /** Returns the local variable of a scalar. */
  int of(MemoryPlan.Scalar scalar) {
    return Known.in(scalars, scalar);
  }

  /** Returns the local variable of a variable of the kernel. */
  int of(Variable variable) {
    return variables.computeIfAbsent(
        variable.id(), _ -> code.allocateLocal(JvmNames.kind(variable.type())));
  }

  /** Returns an int variable for use in one statement. */
  int intScratch() {
    return intScratch;
  }

  /** Returns a long variable for use in one statement. */
  int longScratch() {
    return longScratch;
  }

  /** Pushes a number of the item, as a long. */
  void push(ItemNumber number) {
    int dimension = number.dimension();
    switch (number.kind()) {
      case GLOBAL_ID -> {
        if (dimension == 0) {
          code.lload(first).iload(column).i2l().ladd();
        } else {
          code.lload(dimension == 1 ? row : layer);
        }
      }
      case LOCAL_ID -> {
        if (dimension == 0) {
          code.iload(column).i2l();
        } else {
          code.lload(dimension == 1 ? row : layer);
          code.aload(BOX).loadConstant(Box.FROM + dimension).laload().lsub();
        }
      }
      case GROUP_ID -> code.lload(boxLocal(Box.GROUP + dimension));
      case GLOBAL_SIZE -> code.lload(boxLocal(Box.GLOBAL_SIZE + dimension));
      case GROUP_SIZE -> code.lload(boxLocal(Box.GROUP_SIZE + dimension));
    }
  }

  /** Pushes a number of the item, narrowed to an int. */
  void pushInt(ItemNumber number) {
    boolean inRow = number.dimension() == 0;
    if (inRow && number.kind() == ItemNumber.Kind.GLOBAL_ID) {
      // A sum of ints, not the low bits of a sum: HotSpot removes bounds checks of this form.
      code.iload(firstInt).iload(column).iadd();
    } else if (inRow && number.kind() == ItemNumber.Kind.LOCAL_ID) {
      code.iload(column);
    } else {
      push(number);
      code.l2i();
    }
  }

  private int boxLocal(int index) {
    return Known.in(box, index);
  }

  /** Loads a number of the box into a local variable, unless it has one. */
  void need(int index) {
    box.computeIfAbsent(
        index,
        _ -> {
          int local = code.allocateLocal(TypeKind.LONG);
          fromBox(index, local);
          return local;
        });
  }
}
