package dev.tidepool.methods.jvm;

import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;
import static java.lang.constant.ConstantDescs.INIT_NAME;
import static java.lang.constant.ConstantDescs.MTD_void;

import dev.tidepool.expression.types.Known;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Writes the class of a kernel: one method, in which every step of items is a loop. */
final class KernelWriter {
  private static final ClassDesc SELF =
      ClassDesc.of(KernelWriter.class.getPackageName(), "GeneratedKernel");
  private static final ClassDesc PARKED = JvmNames.of(ParkedItems.class);
  private static final ClassDesc INTS = CD_int.arrayType();

  private final KernelPlan plan;
  private final CodeBuilder code;
  private final Frame frame;
  private final BytecodeExpressionWriter expressions;
  private final AccessWriter access;
  private final Map<Statement.Label, Label> behind = new HashMap<>();
  private final Map<Statement.Label, Label> again = new HashMap<>();
  private final Map<KernelArray, Integer> heap = new HashMap<>();
  private final Label groupEnd;

  /** The number of the item in its box; an int. Set if items keep values. */
  private final int item;

  private KernelWriter(KernelPlan plan, CodeBuilder code) {
    this.plan = plan;
    this.code = code;
    frame = new Frame(code);
    expressions = new BytecodeExpressionWriter(code, frame);
    access = new AccessWriter(code, frame, expressions, plan.addresses());
    groupEnd = code.newLabel();
    item = code.allocateLocal(TypeKind.INT);
  }

  /** Returns the class file of a kernel. */
  static byte[] classFile(KernelPlan plan) {
    return ClassFile.of()
        .build(
            SELF,
            builder ->
                builder
                    .withFlags(ClassFile.ACC_FINAL | ClassFile.ACC_SYNTHETIC)
                    .withInterfaceSymbols(JvmNames.of(KernelCode.class))
                    .withMethodBody(
                        INIT_NAME,
                        MTD_void,
                        0,
                        code ->
                            code.aload(0).invokespecial(CD_Object, INIT_NAME, MTD_void).return_())
                    .withMethodBody(
                        "run",
                        MethodTypeDesc.of(
                            CD_void,
                            CD_Object.arrayType(),
                            CD_long.arrayType(),
                            CD_long.arrayType()),
                        ClassFile.ACC_PUBLIC,
                        code -> new KernelWriter(plan, code).method()));
  }

  private void method() {
    frame.load(plan.memory());
    plan.boxNumbers().forEach(frame::need);
    for (KernelArray array : plan.heapArrays()) {
      int local = code.allocateLocal(TypeKind.REFERENCE);
      heap.put(array, local);
      switch (array) {
        case KernelArray.Shared shared ->
            code.aload(frame.of(new MemoryPlan.Shared(shared))).astore(local);
        case KernelArray.Private own -> {
          if (!plan.isFissioned()) {
            code.loadConstant(own.length()).newarray(JvmNames.element(own.kind())).astore(local);
          }
        }
        case KernelArray.Argument _ -> {}
      }
    }
    for (Variable variable : plan.ofGroup()) {
      zero(variable);
    }
    if (plan.parks()) {
      code.aload(parked()).invokestatic(PARKED, "clear", MethodTypeDesc.of(CD_void, INTS));
    }
    steps(plan.steps());
    code.labelBinding(groupEnd).return_();
    access.writeFaults();
  }

  private int parked() {
    return frame.of(MemoryPlan.Kept.RETURNED);
  }

  private void zero(Variable variable) {
    code.loadConstant(0);
    switch (variable.type()) {
      case INT -> {}
      case LONG -> code.i2l();
      case FLOAT -> code.i2f();
      case DOUBLE -> code.i2d();
    }
    code.storeLocal(JvmNames.kind(variable.type()), frame.of(variable));
  }

  private void steps(List<Step> steps) {
    for (Step step : steps) {
      switch (step) {
        case Step.Items(List<Statement> body) -> items(body);
        case Step.Uniform(Statement.Assign assign) -> {
          expressions.push(assign.value());
          Variable target = assign.target();
          code.storeLocal(JvmNames.kind(target.type()), frame.of(target));
        }
        case Step.Branch branch -> branch(branch);
        case Step.Repeat(Statement.Label label, List<Step> body) -> {
          Label start = code.newBoundLabel();
          Label round = code.newLabel();
          Label end = code.newLabel();
          again.put(label, round);
          behind.put(label, end);
          steps(body);
          code.labelBinding(round);
          release(label);
          code.goto_(start).labelBinding(end);
        }
        case Step.Scope(Statement.Label label, List<Step> body) -> {
          Label end = code.newLabel();
          behind.put(label, end);
          steps(body);
          code.labelBinding(end);
          release(label);
        }
        case Step.Jump(Statement.Break(Statement.Label label)) ->
            code.goto_(Known.in(behind, label));
        case Step.Jump(Statement.Continue(Statement.Label label)) ->
            code.goto_(Known.in(again, label));
        case Step.Jump(Statement other) -> throw new IllegalStateException(other.toString());
      }
    }
  }

  /** Resumes the items that wait for the end of a block, or of a round of a loop. */
  private void release(Statement.Label label) {
    if (plan.parks()) {
      code.aload(parked()).aload(parked()).arraylength();
      code.loadConstant(ParkedItems.waiting(label.id()));
      code.invokestatic(PARKED, "release", MethodTypeDesc.of(CD_void, INTS, CD_int, CD_int));
    }
  }

  private void branch(Step.Branch branch) {
    Set<Variable> read = plan.keptIn(branch.condition());
    if (plan.parks()) {
      // An item that has returned no longer computes, so the values that it kept may be old.
      code.aload(parked()).aload(parked()).arraylength();
      code.invokestatic(PARKED, "first", MethodTypeDesc.of(CD_int, INTS, CD_int));
      code.istore(item);
      code.iload(item).iflt(groupEnd);
    } else if (!read.isEmpty()) {
      code.iconst_0().istore(item);
    }
    read.forEach(this::loadKept);
    Label otherwise = code.newLabel();
    Label end = code.newLabel();
    expressions.jump(branch.condition(), false, otherwise);
    steps(branch.then());
    code.goto_(end).labelBinding(otherwise);
    steps(branch.otherwise());
    code.labelBinding(end);
  }

  private void loadKept(Variable variable) {
    TypeKind kind = JvmNames.kind(variable.type());
    code.aload(frame.of(new MemoryPlan.Kept(variable.id(), variable.type())));
    code.iload(item).arrayLoad(kind).storeLocal(kind, frame.of(variable));
  }

  private void storeKept(Variable variable) {
    TypeKind kind = JvmNames.kind(variable.type());
    code.aload(frame.of(new MemoryPlan.Kept(variable.id(), variable.type())));
    code.iload(item).loadLocal(kind, frame.of(variable)).arrayStore(kind);
  }

  /** Writes a loop over the items of the box, dimension 0 fastest. */
  private void items(List<Statement> body) {
    KeptVariables.Uses uses = KeptVariables.uses(body);
    for (Variable variable : uses.mentioned()) {
      if (isOfItem(variable)) {
        zero(variable);
      }
    }
    code.iconst_0().istore(frame.rowStart);
    frame.fromBox(Box.FROM + 2, frame.layer);
    Label layer = code.newBoundLabel();
    Label layersEnd = code.newLabel();
    code.lload(frame.layer).aload(Frame.BOX).loadConstant(Box.TO + 2).laload().lcmp();
    code.ifge(layersEnd);
    frame.fromBox(Box.FROM + 1, frame.row);
    Label row = code.newBoundLabel();
    Label rowsEnd = code.newLabel();
    code.lload(frame.row).aload(Frame.BOX).loadConstant(Box.TO + 1).laload().lcmp();
    code.ifge(rowsEnd);
    code.iconst_0().istore(frame.column);
    Label column = code.newBoundLabel();
    Label columnsEnd = code.newLabel();
    code.iload(frame.column).iload(frame.count).if_icmpge(columnsEnd);
    item(body, uses);
    code.iinc(frame.column, 1).goto_(column).labelBinding(columnsEnd);
    code.iload(frame.rowStart).iload(frame.count).iadd().istore(frame.rowStart);
    code.lload(frame.row).lconst_1().ladd().lstore(frame.row);
    code.goto_(row).labelBinding(rowsEnd);
    code.lload(frame.layer).lconst_1().ladd().lstore(frame.layer);
    code.goto_(layer).labelBinding(layersEnd);
  }

  private void item(List<Statement> body, KeptVariables.Uses uses) {
    Label end = code.newLabel();
    Label skipped = code.newLabel();
    if (plan.isFissioned()) {
      code.iload(frame.rowStart).iload(frame.column).iadd().istore(item);
    }
    if (plan.parks()) {
      code.aload(parked()).iload(item).iaload().ifne(skipped);
    }
    for (Variable variable : uses.mentioned()) {
      if (plan.kept().contains(variable)) {
        loadKept(variable);
      } else if (isOfItem(variable) && uses.exposed().contains(variable)) {
        zero(variable);
      }
    }
    if (plan.isFissioned()) {
      for (KernelArray array : plan.heapArrays()) {
        if (array instanceof KernelArray.Private own && isUsed(own, body)) {
          code.aload(frame.of(new MemoryPlan.Rows(own))).iload(item).aaload();
          code.astore(Known.in(heap, array));
        }
      }
    }
    StatementWriter.ItemEnd itemEnd =
        state -> {
          if (plan.parks()) {
            code.aload(parked()).iload(item).loadConstant(state).iastore();
          }
          code.goto_(end);
        };
    new StatementWriter(code, frame, expressions, access, array -> Known.in(heap, array), itemEnd)
        .write(body);
    code.labelBinding(end);
    for (Variable variable : uses.mentioned()) {
      if (plan.kept().contains(variable) && isSet(variable, body)) {
        storeKept(variable);
      }
    }
    code.labelBinding(skipped);
  }

  private boolean isOfItem(Variable variable) {
    return !plan.kept().contains(variable) && !plan.ofGroup().contains(variable);
  }

  private static boolean isUsed(KernelArray array, List<Statement> body) {
    return Walk.any(body, statement -> array.equals(Walk.array(statement)));
  }

  private static boolean isSet(Variable variable, List<Statement> body) {
    return Walk.any(body, statement -> variable.equals(Walk.target(statement)));
  }
}
