package dev.tidepool.cpu;

import dev.tidepool.KernelParameter;
import dev.tidepool.expression.CpuLoop;
import dev.tidepool.expression.TypedProgram;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** An expression as a loop over the arguments' memory. */
final class ElementwiseProgram implements CpuProgram {
  /**
   * Elements that one thread takes at a time: enough to hide the claim, few enough to share out.
   */
  private static final long GRAIN = 64 << 10;

  private final TypedProgram program;
  private final List<KernelParameter> parameters;
  private final CpuLoop loop;

  ElementwiseProgram(TypedProgram program, List<KernelParameter> parameters) {
    this.program = program;
    this.parameters = parameters;
    this.loop = CpuLoop.compile(program);
  }

  @Override
  public void run(Launch launch) {
    Map<String, Object> scalars = new HashMap<>();
    Map<String, MemorySegment> arrays = new HashMap<>();
    for (int i = 0; i < parameters.size(); i++) {
      String name = parameters.get(i).name();
      switch (launch.arguments().get(i)) {
        case KernelArgument.Array array -> arrays.put(name, CpuProgram.segment(array));
        case KernelArgument.Scalar(Object value) -> scalars.put(name, value);
      }
    }
    MemorySegment[] segments =
        program.arrays().stream()
            .map(array -> Objects.requireNonNull(arrays.get(array.name())))
            .toArray(MemorySegment[]::new);
    long[] uniforms = program.uniformValues(scalars);
    Crew.spread(
        launch.range().items(), GRAIN, (from, to) -> loop.run(segments, uniforms, from, to));
  }
}
