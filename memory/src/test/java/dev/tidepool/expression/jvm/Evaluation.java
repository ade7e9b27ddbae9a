package dev.tidepool.expression.jvm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.Operand;
import dev.tidepool.expression.types.TypedProgram;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
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

  /**
   * Computes the first {@code n} elements into the arrays that were given, and checks that the code
   * computes the same ones over Java arrays, and where it streams.
   */
  public void run(long n) {
    TypedProgram program = program();
    MemorySegment[] memory =
        program.arrays().stream().map(a -> arrays.get(a.name())).toArray(MemorySegment[]::new);
    CpuLoop loop = CpuLoop.compile(program);
    long[] uniforms = program.uniformValues(scalars);
    Object[] copies = new Object[memory.length];
    for (int i = 0; i < copies.length; i++) {
      copies[i] = CpuLoop.array(type(program, i), Math.toIntExact(n));
      long bytes = n * type(program, i).byteSize();
      MemorySegment.copy(memory[i], 0, CpuLoop.segment(copies[i]), 0, bytes);
    }
    MemorySegment[] streamed = copies(memory);
    loop.run(copies, uniforms, Math.toIntExact(n));
    loop.stream(streamed, uniforms, 0, n);
    loop.run(memory, uniforms, 0, n);
    for (TypedProgram.Store store : program.stores()) {
      int i = store.array();
      String name = program.arrays().get(i).name();
      MemorySegment copy = CpuLoop.segment(copies[i]);
      for (long at = 0; at < n; at++) {
        long expected = element(memory[i], type(program, i), at);
        assertThat(element(copy, type(program, i), at))
            .as("element %d of '%s' of '%s' in a Java array", at, name, program)
            .isEqualTo(expected);
        assertThat(element(streamed[i], type(program, i), at))
            .as("element %d of '%s' of '%s' streamed", at, name, program)
            .isEqualTo(expected);
      }
    }
  }

  /** Copies of arrays; arguments that are one array are one copy. */
  private static MemorySegment[] copies(MemorySegment[] memory) {
    MemorySegment[] copies = new MemorySegment[memory.length];
    for (int i = 0; i < copies.length; i++) {
      int first = Arrays.asList(memory).indexOf(memory[i]);
      copies[i] =
          first < i
              ? copies[first]
              : MemorySegment.ofArray(memory[i].toArray(ValueLayout.JAVA_BYTE));
    }
    return copies;
  }

  private static ScalarType type(TypedProgram program, int array) {
    return program.arrays().get(array).type();
  }

  /** An element's bits; those of any NaN are the same. */
  private static long element(MemorySegment memory, ScalarType type, long at) {
    if (type == ScalarType.FLOAT32) {
      return Float.floatToIntBits(memory.get(ValueLayout.JAVA_FLOAT_UNALIGNED, at * 4));
    }
    return switch (type.byteSize()) {
      case 1 -> memory.get(ValueLayout.JAVA_BYTE, at);
      case 2 -> memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, at * 2);
      case 4 -> memory.get(ValueLayout.JAVA_INT_UNALIGNED, at * 4);
      default ->
          type == ScalarType.FLOAT64
              ? Double.doubleToLongBits(memory.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, at * 8))
              : memory.get(ValueLayout.JAVA_LONG_UNALIGNED, at * 8);
    };
  }
}
