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
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Writes a plan as a hidden class: a static method for each loop, and {@code compute}, which calls
 * these methods and the routines in order. Each loop is a method of its own, so that HotSpot
 * compiles and vectorises it separately after a few blocks.
 */
final class LoopCompiler {
  static final int STATIC = ClassFile.ACC_STATIC | ClassFile.ACC_PRIVATE;

  /** The most pieces that one method calls: HotSpot does not compile methods that are too long. */
  private static final int PIECES_PER_PART = 24;

  static final ClassDesc SELF = ClassDesc.of(LoopCompiler.class.getPackageName(), "GeneratedBody");
  private static final ClassDesc SCRATCH = Scratch.class.describeConstable().orElseThrow();
  private static final ClassDesc SEGMENT = MemorySegment.class.describeConstable().orElseThrow();
  private static final ClassDesc PARTS = FloatParts.class.describeConstable().orElseThrow();
  private static final ClassDesc LONGS = CD_long.arrayType();
  private static final MethodTypeDesc COMPUTE = MethodTypeDesc.of(CD_void, SCRATCH, LONGS, CD_int);

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
    return (BlockBody) load(new LoopCompiler(program, plan).classFile(), program);
  }

  /** Returns an instance of a generated class. */
  static Object load(byte[] bytes, TypedProgram program) {
    try {
      return MethodHandles.lookup()
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
              begin(builder, BlockBody.class);
              List<Piece> pieces = plan.pieces();
              for (int i = 0; i < pieces.size(); i++) {
                LoopSignature signature =
                    pieces.get(i) instanceof Loop loop ? signature("loop" + i, loop) : routine(i);
                signatures.add(signature);
                loopMethod(builder, pieces.get(i), signature);
              }
              parts(builder);
            });
  }

  /** Begins a class that has a constructor and implements an interface. */
  static void begin(ClassBuilder builder, Class<?> body) {
    builder
        .withFlags(ClassFile.ACC_FINAL | ClassFile.ACC_SYNTHETIC)
        .withInterfaceSymbols(body.describeConstable().orElseThrow())
        .withMethodBody(
            INIT_NAME,
            MTD_void,
            0,
            code -> code.aload(0).invokespecial(CD_Object, INIT_NAME, MTD_void).return_());
  }

  private TypeKind uniformKind(int uniform) {
    return JvmTypes.kind(program.uniforms().get(uniform).type());
  }

  /** Replaces the array of uniforms on the stack by the value of one uniform. */
  private void uniform(CodeBuilder code, int uniform) {
    code.loadConstant(uniform).laload();
    JvmTypes.fromBits(code, uniformKind(uniform));
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

  /** Returns the signature of a routine: the slots of its arguments and of one result. */
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
                  plan, code, new Elements.OfArrays(slotLocals, index), uniformLocals, index + 1);
          if (piece instanceof Loop loop) {
            body.loop(loop);
          } else {
            body.routine((Routine) piece);
          }
          code.iinc(index, 1).goto_(top);
          code.labelBinding(end).return_();
        });
  }
}
