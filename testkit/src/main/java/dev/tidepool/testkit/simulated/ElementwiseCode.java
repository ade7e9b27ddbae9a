package dev.tidepool.testkit.simulated;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.expression.CpuLoop;
import dev.tidepool.expression.Expression;
import dev.tidepool.expression.Operand;
import dev.tidepool.expression.ScalarKind;
import dev.tidepool.expression.ScalarType;
import dev.tidepool.expression.TypedProgram;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An elementwise source, run by the same generated loop as on the CPU. */
final class ElementwiseCode implements SimulatedProgram.Code {
  private final List<KernelParameter> parameters;
  private final TypedProgram program;
  private final CpuLoop loop;

  private ElementwiseCode(List<KernelParameter> parameters, TypedProgram program) {
    this.parameters = List.copyOf(parameters);
    this.program = program;
    loop = CpuLoop.compile(program);
  }

  static ElementwiseCode of(KernelSource.Elementwise source, List<KernelParameter> parameters) {
    Map<String, Operand> operands = new LinkedHashMap<>();
    for (KernelParameter parameter : parameters) {
      operands.put(parameter.name(), operand(parameter));
    }
    return new ElementwiseCode(
        parameters, Expression.parse(source.expression()).resolve(operands));
  }

  private static Operand operand(KernelParameter parameter) {
    ElementType<?> type = parameter.type();
    if (parameter.access().isArray()) {
      return Operand.array(scalarType(type));
    }
    if (type.equals(ElementType.BOOLEAN)) {
      return Operand.scalar(ScalarKind.BOOL);
    }
    return Operand.scalar(type.equals(ElementType.LONG) ? ScalarKind.INT : ScalarKind.FLOAT);
  }

  private static ScalarType scalarType(ElementType<?> type) {
    return switch (type.name()) {
      case "BYTE" -> ScalarType.INT8;
      case "SHORT" -> ScalarType.INT16;
      case "INT" -> ScalarType.INT32;
      case "LONG" -> ScalarType.INT64;
      case "FLOAT" -> ScalarType.FLOAT32;
      case "DOUBLE" -> ScalarType.FLOAT64;
      case "BOOLEAN" -> ScalarType.BOOL;
      case "UNSIGNED_BYTE" -> ScalarType.UINT8;
      case "UNSIGNED_SHORT" -> ScalarType.UINT16;
      case "UNSIGNED_INT" -> ScalarType.UINT32;
      case "UNSIGNED_LONG" -> ScalarType.UINT64;
      default -> throw new IllegalArgumentException("no kernel computes with " + type);
    };
  }

  @Override
  public long bytesNeeded(KernelParameter parameter, LaunchRange range) {
    return range.items() * parameter.type().byteSize();
  }

  @Override
  public void run(List<Object> arguments, LaunchRange range) {
    Map<String, Object> scalars = new HashMap<>();
    Map<String, MemorySegment> arrays = new HashMap<>();
    for (int i = 0; i < parameters.size(); i++) {
      if (arguments.get(i) instanceof MemorySegment segment) {
        arrays.put(parameters.get(i).name(), segment);
      } else {
        scalars.put(parameters.get(i).name(), arguments.get(i));
      }
    }
    MemorySegment[] segments =
        program.arrays().stream()
            .map(array -> arrays.get(array.name()))
            .toArray(MemorySegment[]::new);
    loop.run(segments, program.uniformValues(scalars), 0, range.items());
  }
}
