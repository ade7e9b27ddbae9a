package dev.tidepool.expression.jvm;

import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.Operand;
import dev.tidepool.expression.types.TypedProgram;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** An expression with its arguments, run on the calling thread; arrays are Java arrays. */
public final class Evaluation {
  private final Expression expression;
  private final Map<String, Operand> operands = new LinkedHashMap<>();
  private final Map<String, MemorySegment> arrays = new HashMap<>();
  private final Map<String, Object> scalars = new HashMap<>();

  public Evaluation(String source) {
    expression = Expression.parse(source);
  }

  public Evaluation array(String name, ScalarType type, MemorySegment memory) {
    operands.put(name, Operand.array(type));
    arrays.put(name, memory);
    return this;
  }

  public Evaluation floats(String name, float... values) {
    return array(name, ScalarType.FLOAT32, MemorySegment.ofArray(values));
  }

  public Evaluation doubles(String name, double... values) {
    return array(name, ScalarType.FLOAT64, MemorySegment.ofArray(values));
  }

  public Evaluation ints(String name, int... values) {
    return array(name, ScalarType.INT32, MemorySegment.ofArray(values));
  }

  public Evaluation bytes(String name, byte... values) {
    return array(name, ScalarType.INT8, MemorySegment.ofArray(values));
  }

  public Evaluation longs(String name, long... values) {
    return array(name, ScalarType.INT64, MemorySegment.ofArray(values));
  }

  public Evaluation scalar(String name, Object value) {
    operands.put(name, Operand.scalar(value));
    scalars.put(name, value);
    return this;
  }

  TypedProgram program() {
    return expression.resolve(operands);
  }

  /** Computes the first {@code n} elements into the arrays that were given. */
  public void run(long n) {
    TypedProgram program = program();
    MemorySegment[] memory =
        program.arrays().stream().map(a -> arrays.get(a.name())).toArray(MemorySegment[]::new);
    CpuLoop.compile(program).run(memory, program.uniformValues(scalars), 0, n);
  }
}
