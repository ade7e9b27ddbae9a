package dev.tidepool.expression.jvm;

import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.tidepool.expression.jvm.LoopPlan.Loop;
import dev.tidepool.expression.types.TypedProgram;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes the only loop of a {@linkplain LoopPlan#isStreaming streaming} plan as a hidden class that
 * works directly on memory.
 */
final class StreamCompiler {
  private static final ClassDesc SEGMENT = MemorySegment.class.describeConstable().orElseThrow();
  private static final MethodTypeDesc COMPUTE =
      MethodTypeDesc.of(CD_void, SEGMENT.arrayType(), CD_long.arrayType(), CD_long, CD_long);

  private final TypedProgram program;
  private final LoopPlan plan;

  private StreamCompiler(TypedProgram program, LoopPlan plan) {
    this.program = program;
    this.plan = plan;
  }

  static StreamBody compile(TypedProgram program, LoopPlan plan) {
    byte[] bytes =
        ClassFile.of().build(LoopCompiler.SELF, new StreamCompiler(program, plan)::write);
    return (StreamBody) LoopCompiler.load(bytes, program);
  }

  /**
   * Writes the class. The loop's method takes all arrays, all uniforms, the first index and the
   * end.
   */
  private void write(ClassBuilder builder) {
    LoopCompiler.begin(builder, StreamBody.class);
    int arrays = program.arrays().size();
    int uniforms = program.uniforms().size();
    List<ClassDesc> parameters = new ArrayList<>();
    for (int i = 0; i < arrays; i++) {
      parameters.add(SEGMENT);
    }
    for (int i = 0; i < uniforms; i++) {
      parameters.add(uniformKind(i).upperBound());
    }
    parameters.add(CD_long);
    parameters.add(CD_long);
    MethodTypeDesc type = MethodTypeDesc.of(CD_void, parameters);
    builder.withMethodBody(
        "compute",
        COMPUTE,
        ClassFile.ACC_PUBLIC,
        code -> {
          for (int i = 0; i < arrays; i++) {
            code.aload(1).loadConstant(i).aaload();
          }
          for (int i = 0; i < uniforms; i++) {
            code.aload(2).loadConstant(i).laload();
            JvmTypes.fromBits(code, uniformKind(i));
          }
          code.lload(3).lload(5).invokestatic(LoopCompiler.SELF, "loop", type).return_();
        });
    builder.withMethodBody("loop", type, LoopCompiler.STATIC, this::loop);
  }

  private void loop(CodeBuilder code) {
    int local = 0;
    Map<Integer, Integer> slotLocals = new HashMap<>();
    for (int i = 0; i < program.arrays().size(); i++, local++) {
      slotLocals.put(plan.input(i), local);
      slotLocals.put(plan.output(i), local);
    }
    Map<Integer, Integer> uniformLocals = new HashMap<>();
    for (int i = 0; i < program.uniforms().size(); i++) {
      uniformLocals.put(i, local);
      local += uniformKind(i).slotSize();
    }
    int index = local;
    int end = index + 2;
    Label top = code.newLabel();
    Label done = code.newLabel();
    code.labelBinding(top).lload(index).lload(end).lcmp().ifge(done);
    BodyWriter body =
        new BodyWriter(
            plan, code, new Elements.OfMemory(slotLocals, index), uniformLocals, end + 2);
    body.loadFirst(program);
    body.loop((Loop) plan.pieces().getFirst());
    code.lload(index).lconst_1().ladd().lstore(index).goto_(top);
    code.labelBinding(done).return_();
  }

  private TypeKind uniformKind(int uniform) {
    return JvmTypes.kind(program.uniforms().get(uniform).type());
  }
}
