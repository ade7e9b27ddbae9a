package dev.tidepool.cpu;

import dev.tidepool.KernelParameter;
import dev.tidepool.expression.jvm.CpuLoop;
import dev.tidepool.expression.types.TypedProgram;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Runs an expression as a loop over the arguments' memory. */
final class ElementwiseProgram implements CpuProgram {
  /**
   * The elements that one thread takes at a time: enough to hide the cost of a claim, and few
   * enough to balance the threads.
   */
  private static final long GRAIN = 64 << 10;

  /** From this size of all arrays together, one processor's share does not fit in its cache. */
  private static final long STREAMED_FROM = 64L << 20;

  private final TypedProgram program;
  private final CpuLoop loop;

  /** For each array of the loop, the index of its argument. */
  private final int[] arrays;

  /** The names of scalar arguments; null where an argument is an array. */
  private final @Nullable String[] scalars;

  private final boolean anyScalar;
  private final int bytesOfItem;

  /** The values of the uniforms if no argument is a scalar. All launches share them. */
  private volatile long @Nullable [] constants;

  ElementwiseProgram(TypedProgram program, List<KernelParameter> parameters) {
    this.program = program;
    this.loop = CpuLoop.compile(program);
    List<String> names = parameters.stream().map(KernelParameter::name).toList();
    this.arrays =
        program.arrays().stream().mapToInt(array -> names.indexOf(array.name())).toArray();
    this.bytesOfItem = program.arrays().stream().mapToInt(array -> array.type().byteSize()).sum();
    this.scalars = new String[parameters.size()];
    for (int i = 0; i < scalars.length; i++) {
      scalars[i] = parameters.get(i).access().isArray() ? null : names.get(i);
    }
    this.anyScalar = parameters.stream().anyMatch(parameter -> !parameter.access().isArray());
  }

  @Override
  public void run(Launch launch) {
    MemorySegment[] segments = new MemorySegment[arrays.length];
    for (int i = 0; i < arrays.length; i++) {
      segments[i] = CpuProgram.segment((KernelArgument.Array) launch.arguments().get(arrays[i]));
    }
    long[] uniforms = uniforms(launch);
    long items = launch.range().items();
    RangeTask piece =
        items * bytesOfItem >= STREAMED_FROM
            ? (from, to) -> loop.stream(segments, uniforms, from, to)
            : (from, to) -> loop.run(segments, uniforms, from, to);
    CpuThreads.spread(items, GRAIN, piece);
  }

  private long[] uniforms(Launch launch) {
    long[] known = constants;
    if (known == null) {
      known = computed(launch);
      constants = anyScalar ? null : known;
    }
    return known;
  }

  private long[] computed(Launch launch) {
    Map<String, Object> values = new HashMap<>();
    for (int i = 0; i < scalars.length; i++) {
      String name = scalars[i];
      if (name != null) {
        values.put(name, ((KernelArgument.Scalar) launch.arguments().get(i)).value());
      }
    }
    return program.uniformValues(values);
  }
}
