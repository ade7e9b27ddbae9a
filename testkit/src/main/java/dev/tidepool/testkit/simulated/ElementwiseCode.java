package dev.tidepool.testkit.simulated;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.expression.jvm.CpuLoop;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.TypedProgram;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
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
    return new ElementwiseCode(
        parameters, Expression.parse(source.expression()).resolve(parameters));
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
