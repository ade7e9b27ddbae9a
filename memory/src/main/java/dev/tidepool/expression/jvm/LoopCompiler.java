package dev.tidepool.expression.jvm;

import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;
import static java.lang.constant.ConstantDescs.INIT_NAME;
import static java.lang.constant.ConstantDescs.MTD_void;

import dev.tidepool.expression.jvm.LoopPlan.Loop;
import dev.tidepool.expression.jvm.LoopPlan.Piece;
import dev.tidepool.expression.jvm.LoopPlan.Routine;
import dev.tidepool.expression.math.FloatParts;
import dev.tidepool.expression.syntax.Node;
import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Known;
import dev.tidepool.expression.types.TypedProgram;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Writes a plan as a hidden class: a static method for each loop, and {@code compute}, which calls
 * them and the routines in order. Every loop is a method of its own, so that it is compiled and
 * vectorised for itself after a few blocks.
 */
final class LoopCompiler {
  private static final int STATIC = ClassFile.ACC_STATIC | ClassFile.ACC_PRIVATE;

  /** Pieces called by one method; their methods must not outgrow what is compiled at all. */
  private static final int PIECES_PER_PART = 24;

  private static final ClassDesc SELF =
      ClassDesc.of(LoopCompiler.class.getPackageName(), "GeneratedBody");
  private static final ClassDesc SCRATCH = Scratch.class.describeConstable().orElseThrow();
  private static final ClassDesc SEGMENT = MemorySegment.class.describeConstable().orElseThrow();
  private static final ClassDesc PARTS = FloatParts.class.describeConstable().orElseThrow();
  private static final ClassDesc LONGS = CD_long.arrayType();
  private static final MethodTypeDesc COMPUTE = MethodTypeDesc.of(CD_void, SCRATCH, LONGS, CD_int);

  private static final MethodTypeDesc COMPUTE_DIRECTLY =
      MethodTypeDesc.of(CD_void, SEGMENT.arrayType(), LONGS, CD_long, CD_long);

  private static final ClassDesc SYSTEM = System.class.describeConstable().orElseThrow();
  private static final MethodTypeDesc ARRAYCOPY =
      MethodTypeDesc.of(CD_void, CD_Object, CD_int, CD_Object, CD_int, CD_int);

  private final TypedProgram program;
  private final LoopPlan plan;
  private final List<LoopSignature> signatures = new ArrayList<>();

  /** The parameters of a loop's method: slots first, then uniforms, then the count. */
  private record LoopSignature(
      String name, List<Integer> slots, List<Integer> uniforms, MethodTypeDesc type) {}

  private LoopCompiler(TypedProgram program, LoopPlan plan) {
    this.program = program;
    this.plan = plan;
  }

  static BlockBody compile(TypedProgram program, LoopPlan plan) {
    byte[] bytes = new LoopCompiler(program, plan).classFile();
    try {
      return (BlockBody)
          MethodHandles.lookup()
              .defineHiddenClass(bytes, true)
              .lookupClass()
              .getDeclaredConstructor()
              .newInstance();
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("the code generated for '" + program + "' was refused", e);
    }
  }

  private byte[] classFile() {
    return ClassFile.of()
        .build(
            SELF,
            builder -> {
              builder
                  .withFlags(ClassFile.ACC_FINAL | ClassFile.ACC_SYNTHETIC)
                  .withInterfaceSymbols(BlockBody.class.describeConstable().orElseThrow())
                  .withMethodBody(
                      INIT_NAME,
                      MTD_void,
                      0,
                      code ->
                          code.aload(0).invokespecial(CD_Object, INIT_NAME, MTD_void).return_());
              List<Piece> pieces = plan.pieces();
              for (int i = 0; i < pieces.size(); i++) {
                LoopSignature signature =
                    pieces.get(i) instanceof Loop loop ? signature("loop" + i, loop) : routine(i);
                signatures.add(signature);
                loopMethod(builder, pieces.get(i), signature);
              }
              parts(builder);
              if (plan.isStreaming()) {
                direct(builder, (Loop) plan.pieces().getFirst());
              }
            });
  }

  /** The only loop once more, over the memory itself. */
  private void direct(ClassBuilder builder, Loop loop) {
    int arrays = program.arrays().size();
    List<Integer> uniforms = signatures.getFirst().uniforms();
    List<ClassDesc> parameters = new ArrayList<>(Collections.nCopies(arrays, SEGMENT));
    uniforms.forEach(uniform -> parameters.add(uniformKind(uniform).upperBound()));
    parameters.add(CD_long);
    parameters.add(CD_long);
    MethodTypeDesc type = MethodTypeDesc.of(CD_void, parameters);
    builder.withMethodBody(
        "computeDirectly",
        COMPUTE_DIRECTLY,
        ClassFile.ACC_PUBLIC,
        code -> {
          for (int i = 0; i < arrays; i++) {
            code.aload(1).loadConstant(i).aaload();
          }
          uniforms.forEach(uniform -> uniform(code.aload(2), uniform));
          code.lload(3).lload(5).invokestatic(SELF, "direct", type).return_();
        });
    builder.withMethodBody(
        "direct",
        type,
        STATIC,
        code -> {
          Map<Integer, Integer> slotLocals = new HashMap<>();
          for (int i = 0; i < arrays; i++) {
            slotLocals.put(plan.input(i), i);
            slotLocals.put(plan.output(i), i);
          }
          Map<Integer, Integer> uniformLocals = new HashMap<>();
          int local = arrays;
          for (int uniform : uniforms) {
            uniformLocals.put(uniform, local);
            local += uniformKind(uniform).slotSize();
          }
          int index = local;
          int end = index + 2;
          Label top = code.newLabel();
          Label done = code.newLabel();
          code.labelBinding(top).lload(index).lload(end).lcmp().ifge(done);
          BodyWriter body =
              new BodyWriter(
                  code, new Elements.OfMemory(slotLocals, index), uniformLocals, end + 2);
          body.loadFirst();
          body.loop(loop);
          code.lload(index).lconst_1().ladd().lstore(index).goto_(top);
          code.labelBinding(done).return_();
        });
  }

  private TypeKind uniformKind(int uniform) {
    return JvmTypes.kind(program.uniforms().get(uniform).type());
  }

  /** Replaces the array of uniforms on the stack by the value of one. */
  private void uniform(CodeBuilder code, int uniform) {
    code.loadConstant(uniform).laload();
    switch (uniformKind(uniform)) {
      case INT -> code.l2i();
      case FLOAT -> code.l2i().invokestatic(JvmTypes.FLOAT_BOX, "intBitsToFloat", JvmTypes.BITS_F);
      case DOUBLE -> code.invokestatic(JvmTypes.DOUBLE_BOX, "longBitsToDouble", JvmTypes.BITS_D);
      default -> {}
    }
  }

  private void parts(ClassBuilder builder) {
    List<String> names = new ArrayList<>();
    for (int from = 0; from < plan.pieces().size(); from += PIECES_PER_PART) {
      int first = from;
      int last = Math.min(from + PIECES_PER_PART, plan.pieces().size());
      String name = "part" + names.size();
      names.add(name);
      builder.withMethodBody(
          name,
          COMPUTE,
          STATIC,
          code -> {
            for (int i = first; i < last; i++) {
              call(code, i);
            }
            code.return_();
          });
    }
    builder.withMethodBody(
        "compute",
        COMPUTE,
        ClassFile.ACC_PUBLIC,
        code -> {
          for (String name : names) {
            code.aload(1).aload(2).iload(3).invokestatic(SELF, name, COMPUTE);
          }
          code.return_();
        });
  }

  /** Calls a piece from a static method with the parameters of {@code compute}. */
  private void call(CodeBuilder code, int piece) {
    LoopSignature signature = signatures.get(piece);
    for (int slot : signature.slots()) {
      slot(code, slot).checkcast(arrayOf(plan.slots().get(slot)));
    }
    for (int uniform : signature.uniforms()) {
      uniform(code.aload(1), uniform);
    }
    if (plan.pieces().get(piece) instanceof Routine(Node node, List<Integer> args, _)) {
      if (BlockFunctions.takesSegment(node)) {
        code.aload(0).getfield(SCRATCH, "segments", SEGMENT.arrayType());
        code.loadConstant(args.getFirst()).aaload();
      }
      if (BlockFunctions.takesParts(node)) {
        code.aload(0).getfield(SCRATCH, "parts", PARTS);
      }
    }
    code.iload(2);
    code.invokestatic(
        plan.pieces().get(piece) instanceof Routine routine && BlockFunctions.has(routine.node())
            ? BlockFunctions.OWNER
            : SELF,
        signature.name(),
        signature.type());
    if (plan.pieces().get(piece) instanceof Routine(_, _, List<Integer> results)) {
      for (int extra : results.subList(1, results.size())) {
        slot(code, results.getFirst()).iconst_0();
        slot(code, extra).iconst_0().iload(2);
        code.invokestatic(SYSTEM, "arraycopy", ARRAYCOPY);
      }
    }
  }

  private static CodeBuilder slot(CodeBuilder code, int slot) {
    return code.aload(0)
        .getfield(SCRATCH, "slots", CD_Object.arrayType())
        .loadConstant(slot)
        .aaload();
  }

  private LoopSignature signature(String name, Loop loop) {
    Set<Integer> slots = new LinkedHashSet<>();
    Set<Integer> uniforms = new LinkedHashSet<>();
    for (Node node : loop.nodes()) {
      List<Node> read = node.isLeaf() ? List.of(node) : node.args();
      for (Node arg : read) {
        if (arg.op() == Op.UNIFORM) {
          uniforms.add((int) arg.payload());
        } else if (arg.op() == Op.LOAD || (!arg.isLeaf() && !loop.nodes().contains(arg))) {
          slots.add(plan.home(arg));
        }
      }
    }
    loop.results().values().forEach(slots::addAll);
    return signature(name, List.copyOf(slots), List.copyOf(uniforms));
  }

  /** A routine takes its arguments' slots and one result's. */
  private LoopSignature routine(int index) {
    Routine routine = (Routine) plan.pieces().get(index);
    List<Integer> slots = new ArrayList<>(routine.args());
    slots.add(routine.results().getFirst());
    String name =
        BlockFunctions.has(routine.node()) ? routine.node().op().functionName() : "loop" + index;
    LoopSignature plain = signature(name, slots, List.of());
    MethodTypeDesc type = plain.type();
    if (BlockFunctions.takesParts(routine.node())) {
      type = type.insertParameterTypes(slots.size(), PARTS);
    }
    if (BlockFunctions.takesSegment(routine.node())) {
      type = type.insertParameterTypes(slots.size(), SEGMENT);
    }
    return new LoopSignature(name, slots, List.of(), type);
  }

  private LoopSignature signature(String name, List<Integer> slots, List<Integer> uniforms) {
    List<ClassDesc> parameters = new ArrayList<>();
    slots.forEach(slot -> parameters.add(arrayOf(plan.slots().get(slot))));
    uniforms.forEach(uniform -> parameters.add(uniformKind(uniform).upperBound()));
    parameters.add(CD_int);
    return new LoopSignature(name, slots, uniforms, MethodTypeDesc.of(CD_void, parameters));
  }

  private static ClassDesc arrayOf(ScalarType type) {
    return JvmTypes.element(type).upperBound().arrayType();
  }

  private void loopMethod(ClassBuilder builder, Piece piece, LoopSignature signature) {
    if (piece instanceof Routine routine && BlockFunctions.has(routine.node())) {
      return;
    }
    builder.withMethodBody(
        signature.name(),
        signature.type(),
        STATIC,
        code -> {
          Map<Integer, Integer> slotLocals = new HashMap<>();
          Map<Integer, Integer> uniformLocals = new HashMap<>();
          int local = 0;
          for (int slot : signature.slots()) {
            slotLocals.put(slot, local++);
          }
          for (int uniform : signature.uniforms()) {
            uniformLocals.put(uniform, local);
            local += uniformKind(uniform).slotSize();
          }
          int count = local++;
          int index = local;
          Label top = code.newLabel();
          Label end = code.newLabel();
          code.loadConstant(0).istore(index);
          code.labelBinding(top).iload(index).iload(count).if_icmpge(end);
          BodyWriter body =
              new BodyWriter(
                  code, new Elements.OfArrays(slotLocals, index), uniformLocals, index + 1);
          if (piece instanceof Loop loop) {
            body.loop(loop);
          } else {
            body.routine((Routine) piece);
          }
          code.iinc(index, 1).goto_(top);
          code.labelBinding(end).return_();
        });
  }

  /** Writes what happens to one element. */
  private final class BodyWriter {
    private final CodeBuilder code;
    private final Elements elements;
    private final Map<Integer, Integer> uniformLocals;
    private final Map<Node, Integer> locals = new LinkedHashMap<>();
    private int nextLocal;

    BodyWriter(
        CodeBuilder code, Elements elements, Map<Integer, Integer> uniformLocals, int nextLocal) {
      this.code = code;
      this.elements = elements;
      this.uniformLocals = uniformLocals;
      this.nextLocal = nextLocal;
    }

    /** Loads all elements before any is stored: an array may be read and written. */
    void loadFirst() {
      for (Node node : program.nodes()) {
        if (node.op() == Op.LOAD) {
          load(node);
          locals.put(node, store(node));
        }
      }
    }

    void loop(Loop loop) {
      for (Node node : loop.nodes()) {
        if (node.isLeaf()) {
          load(node);
        } else {
          node.args().forEach(this::load);
          ElementWriter.write(code, node);
        }
        int local = store(node);
        if (!node.isLeaf()) {
          locals.put(node, local);
        }
        for (int slot : loop.results().getOrDefault(node, List.of())) {
          elements.locate(code, slot, node.type());
          code.loadLocal(JvmTypes.kind(node.type()), local);
          elements.store(code, node.type());
        }
      }
    }

    /** Stores a node's value to a local variable of its own. */
    private int store(Node node) {
      TypeKind kind = JvmTypes.kind(node.type());
      int local = nextLocal;
      nextLocal += kind.slotSize();
      code.storeLocal(kind, local);
      return local;
    }

    void routine(Routine routine) {
      Node node = routine.node();
      elements.locate(code, routine.results().getFirst(), node.type());
      for (int i = 0; i < node.args().size(); i++) {
        elements.locate(code, routine.args().get(i), node.type());
        elements.load(code, node.type());
      }
      ElementWriter.function(code, node);
      elements.store(code, node.type());
    }

    private void load(Node node) {
      Integer local = locals.get(node);
      if (local != null) {
        code.loadLocal(JvmTypes.kind(node.type()), local);
        return;
      }
      switch (node.op()) {
        case CONSTANT -> ElementWriter.constant(code, node);
        case UNIFORM ->
            code.loadLocal(
                JvmTypes.kind(node.type()), Known.in(uniformLocals, (int) node.payload()));
        default -> {
          elements.locate(code, plan.home(node), node.type());
          elements.load(code, node.type());
          ElementWriter.afterLoad(code, node);
        }
      }
    }
  }
}
