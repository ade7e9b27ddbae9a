package dev.tidepool.metal;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.ScalarBytes;
import java.util.List;

/**
 * Code in Metal's language that a user wrote. Its arrays are pointers to the first byte of each
 * argument, whatever the offset of the slice. Each item of the range is one thread; there is no
 * thread beyond the range.
 */
final class HandWrittenProgram extends MetalProgram {
  // Larger groups gain little and leave registers for fewer of them.
  private static final long GROUP = 256;
  // What a pointer in constant memory must be a multiple of; only arrays that are read can be
  // there.
  private static final long CONSTANT_ALIGNMENT = 4;

  private final List<KernelParameter> parameters;
  private final boolean hasGroupMemory;

  private HandWrittenProgram(CompiledKernel kernel, List<KernelParameter> parameters) {
    super(kernel);
    this.parameters = parameters;
    this.hasGroupMemory =
        kernel.bindings().stream().anyMatch(CompiledKernel.Binding::isGroupMemory);
  }

  static HandWrittenProgram compile(MetalDevice device, KernelSource.Metal source) {
    for (KernelParameter parameter : source.parameters()) {
      if (!parameter.access().isArray() && parameter.type().isStruct()) {
        throw new KernelCompilationException(
            "parameter '" + parameter.name() + "' is a struct by value; pass an array of one", "");
      }
    }
    CompiledKernel kernel = CompiledKernel.compile(device, source.source(), source.entry());
    try {
      new SourceParameters(kernel).check(source.parameters());
      return new HandWrittenProgram(kernel, source.parameters());
    } catch (RuntimeException refused) {
      kernel.close();
      throw refused;
    }
  }

  @Override
  void bind(KernelArguments arguments, Launch launch) {
    if (launch.arguments().size() != parameters.size()) {
      throw new IllegalArgumentException(
          "kernel '"
              + kernel().entry()
              + "' takes "
              + parameters.size()
              + " arguments, not "
              + launch.arguments().size());
    }
    LaunchRange range = launch.range();
    requireGroupMemory(range.localBytes());
    long[] group =
        range.group().isEmpty()
            ? kernel().groups().dividing(range, GROUP, kernel().width())
            : kernel().groups().asked(range, kernel().entry(), kernel().device().name());
    long[] groups = Groups.of(kernel(), range, group);
    for (int i = 0; i < parameters.size(); i++) {
      add(arguments, parameters.get(i), launch.arguments().get(i));
    }
    arguments.run(kernel(), groups, group, range.localBytes());
  }

  private void add(KernelArguments arguments, KernelParameter parameter, KernelArgument argument) {
    switch (argument) {
      case KernelArgument.Array array when parameter.access().isArray() -> {
        long own = parameter.type().layout().byteAlignment();
        arguments.addPointer(
            array,
            parameter.access().writes() ? own : Math.max(own, CONSTANT_ALIGNMENT),
            parameter.access());
      }
      case KernelArgument.Scalar scalar when !parameter.access().isArray() ->
          arguments.addReference(
              ScalarBytes.of(scalar.value(), parameter.type(), arguments.scratch()));
      default ->
          throw new IllegalArgumentException(
              "parameter '"
                  + parameter.name()
                  + "' of kernel '"
                  + kernel().entry()
                  + "' takes "
                  + (parameter.access().isArray() ? "an array" : "a value"));
    }
  }

  private void requireGroupMemory(long bytes) {
    if (hasGroupMemory != bytes > 0) {
      throw new IllegalArgumentException(
          "kernel '"
              + kernel().entry()
              + (hasGroupMemory
                  ? "' takes local memory; launch it withLocalMemory(bytes)"
                  : "' takes no local memory; launch it without, or add a parameter"
                      + " [[threadgroup(0)]]"));
    }
    long most = kernel().device().properties().groupMemory() - kernel().ownGroupMemory();
    if (bytes > most) {
      throw new IllegalArgumentException(
          bytes
              + " bytes of local memory were asked for; "
              + kernel().device().name()
              + " has "
              + most
              + " for a group of kernel '"
              + kernel().entry()
              + "'");
    }
  }
}
