package dev.tidepool.opencl;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.ScalarBytes;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * OpenCL C that a user wrote. Its arrays are pointers to the first byte of each argument, whatever
 * the offset of the slice; a kernel that reads vectors from slices does so with {@code vloadn},
 * since a slice is aligned to its elements only.
 */
final class HandWrittenProgram extends OpenClProgram {
  private final List<KernelParameter> parameters;

  private HandWrittenProgram(CompiledKernel code, List<KernelParameter> parameters) {
    super(code);
    this.parameters = parameters;
  }

  static HandWrittenProgram compile(OpenClDevice device, KernelSource.OpenCl source) {
    for (KernelParameter parameter : source.parameters()) {
      if (!parameter.access().isArray() && parameter.type().isStruct()) {
        throw new KernelCompilationException(
            "parameter '" + parameter.name() + "' is a struct by value; pass an array of one", "");
      }
    }
    CompiledKernel code =
        CompiledKernel.compile(device, source.source(), source.entry(), "-cl-kernel-arg-info");
    try {
      SourceParameters.of(code).check(source.parameters());
    } catch (RuntimeException refused) {
      code.close();
      throw refused;
    }
    return new HandWrittenProgram(code, source.parameters());
  }

  @Override
  void launch(KernelArguments bound, Launch launch) {
    List<KernelArgument> arguments = launch.arguments();
    LaunchRange range = launch.range();
    if (arguments.size() != parameters.size()) {
      throw new IllegalArgumentException(
          "kernel '"
              + code().entry()
              + "' takes "
              + parameters.size()
              + " arguments, not "
              + arguments.size());
    }
    requireFits(range);
    Set<Block> shared = blocksOfSeveral(arguments);
    for (int index = 0; index < arguments.size(); index++) {
      KernelParameter parameter = parameters.get(index);
      switch (arguments.get(index)) {
        case KernelArgument.Array array when parameter.access().isArray() -> {
          if (array.offset() % parameter.type().layout().byteAlignment() == 0) {
            bound.bindBytes(index, array, parameter.access(), !shared.contains(array.block()));
          } else {
            bound.bindStage(index, array, parameter.access());
          }
        }
        case KernelArgument.Scalar scalar when !parameter.access().isArray() ->
            bound.bindValue(
                index, ScalarBytes.of(scalar.value(), parameter.type(), bound.scratch()));
        default ->
            throw new IllegalArgumentException(
                "parameter '"
                    + parameter.name()
                    + "' of kernel '"
                    + code().entry()
                    + "' takes "
                    + (parameter.access().isArray() ? "an array" : "a value"));
      }
    }
    if (range.localBytes() > 0) {
      bound.bindLocal(parameters.size(), range.localBytes());
    }
    bound.run(sizes(range.global()), sizes(range.group()));
  }

  /**
   * Blocks that several arguments lie in: those need buffer objects that do not contain another's.
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

  private void requireFits(LaunchRange range) {
    DeviceProperties device = code().device().properties();
    boolean hasLocal = code().argumentCount() > parameters.size();
    if (hasLocal != range.localBytes() > 0) {
      throw new IllegalArgumentException(
          hasLocal
              ? "kernel '"
                  + code().entry()
                  + "' takes local memory after its "
                  + parameters.size()
                  + " declared parameters; launch it withLocalMemory(bytes), or declare its last"
                  + " parameter if that is no __local pointer"
              : "kernel '"
                  + code().entry()
                  + "' takes no local memory after its "
                  + parameters.size()
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
    long items = range.group().stream().reduce(1L, Math::multiplyExact);
    boolean tooLong = false;
    for (int i = 0; i < range.group().size(); i++) {
      tooLong |= range.group().get(i) > device.maxGroupSizes().get(i);
    }
    if (items > code().maxGroup() || tooLong) {
      throw new IllegalArgumentException(
          "groups of "
              + range.group()
              + " are too large for kernel '"
              + code().entry()
              + "' on "
              + code().device().name()
              + ": at most "
              + code().maxGroup()
              + " items in all and "
              + device.maxGroupSizes()
              + " in each dimension");
    }
  }

  private static long[] sizes(List<Long> sizes) {
    return sizes.stream().mapToLong(Long::longValue).toArray();
  }
}
