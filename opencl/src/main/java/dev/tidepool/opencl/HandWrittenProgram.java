package dev.tidepool.opencl;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.ScalarBytes;
import dev.tidepool.spi.support.DeclaredParameters;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * OpenCL C that a user wrote. Its arrays are pointers to the first byte of each argument, whatever
 * the offset of the slice. A slice is aligned only to its elements, so a kernel that reads vectors
 * from slices uses {@code vloadn}.
 */
final class HandWrittenProgram extends OpenClProgram {
  private final DeclaredParameters parameters;

  private HandWrittenProgram(CompiledKernel code, DeclaredParameters parameters) {
    super(code);
    this.parameters = parameters;
  }

  static HandWrittenProgram compile(OpenClDevice device, KernelSource.OpenCl source) {
    DeclaredParameters parameters = new DeclaredParameters(source.entry(), source.parameters());
    CompiledKernel code =
        CompiledKernel.compile(device, source.source(), source.entry(), "-cl-kernel-arg-info");
    try {
      SourceParameters.of(code).check(parameters.all());
      return new HandWrittenProgram(code, parameters);
    } catch (RuntimeException | Error refused) {
      code.close();
      throw refused;
    }
  }

  @Override
  void launch(KernelArguments bound, Launch launch) {
    List<KernelArgument> arguments = launch.arguments();
    LaunchRange range = launch.range();
    parameters.requireFit(arguments);
    requireLocalMemory(range);
    long[] group = code().groups().asked(range);
    Set<Block> shared = blocksOfSeveral(arguments);
    for (int index = 0; index < arguments.size(); index++) {
      KernelParameter parameter = parameters.all().get(index);
      switch (arguments.get(index)) {
        case KernelArgument.Array array ->
            bound.bindBytes(
                index,
                array,
                parameter.type().layout().byteAlignment(),
                parameter.access(),
                !shared.contains(array.block()));
        case KernelArgument.Scalar scalar ->
            bound.bindValue(
                index, ScalarBytes.of(scalar.value(), parameter.type(), bound.scratch()));
      }
    }
    if (range.localBytes() > 0) {
      bound.bindLocal(parameters.all().size(), range.localBytes());
    }
    int dimensions = range.group().size();
    bound.run(sizes(range.global()), Arrays.copyOf(group, dimensions));
  }

  /**
   * Returns the blocks that contain several arguments: those arguments need buffer objects that do
   * not contain each other's bytes.
   */
  private static Set<Block> blocksOfSeveral(List<KernelArgument> arguments) {
    IdentityHashMap<Block, Boolean> seen = new IdentityHashMap<>();
    for (KernelArgument argument : arguments) {
      if (argument instanceof KernelArgument.Array array) {
        seen.merge(array.block(), false, (first, second) -> true);
      }
    }
    Set<Block> several = Collections.newSetFromMap(new IdentityHashMap<>());
    seen.forEach(
        (block, again) -> {
          if (again) {
            several.add(block);
          }
        });
    return several;
  }

  private void requireLocalMemory(LaunchRange range) {
    DeviceProperties device = code().device().properties();
    boolean hasLocal = code().argumentCount() > parameters.all().size();
    if (hasLocal != range.localBytes() > 0) {
      throw new IllegalArgumentException(
          hasLocal
              ? "kernel '"
                  + code().entry()
                  + "' takes local memory after its "
                  + parameters.all().size()
                  + " declared parameters; launch it withLocalMemory(bytes), or declare its last"
                  + " parameter if that is no __local pointer"
              : "kernel '"
                  + code().entry()
                  + "' takes no local memory after its "
                  + parameters.all().size()
                  + " declared parameters; launch it without, or add a __local pointer");
    }
    if (range.localBytes() > device.localMemory()) {
      throw new IllegalArgumentException(
          range.localBytes()
              + " bytes of local memory were asked for; "
              + code().device().name()
              + " has "
              + device.localMemory());
    }
  }

  private static long[] sizes(List<Long> sizes) {
    return sizes.stream().mapToLong(Long::longValue).toArray();
  }
}
