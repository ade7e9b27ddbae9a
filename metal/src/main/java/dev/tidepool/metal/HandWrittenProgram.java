package dev.tidepool.metal;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.ScalarBytes;
import dev.tidepool.spi.support.DeclaredParameters;

/**
 * Code in Metal's language that a user wrote. Its arrays are pointers to the first byte of each
 * argument, whatever the offset of the slice. Each item of the range is one thread; there is no
 * thread beyond the range.
 */
final class HandWrittenProgram extends MetalProgram {
  // Larger groups gain little, and registers suffice for fewer of them.
  private static final long GROUP = 256;
  // The alignment of a pointer in constant memory, on Apple's own devices and on cards. Only arrays
  // that are read can be there.
  private static final long CONSTANT_ALIGNMENT = 4;
  private static final long CONSTANT_ALIGNMENT_OF_CARDS = 256;

  private final DeclaredParameters parameters;
  private final long constantAlignment;
  private final boolean hasGroupMemory;

  private HandWrittenProgram(
      CompiledKernel kernel, DeclaredParameters parameters, boolean unified) {
    super(kernel);
    this.parameters = parameters;
    this.constantAlignment = unified ? CONSTANT_ALIGNMENT : CONSTANT_ALIGNMENT_OF_CARDS;
    this.hasGroupMemory =
        kernel.bindings().stream().anyMatch(CompiledKernel.Binding::isGroupMemory);
  }

  static HandWrittenProgram compile(MetalDevice device, KernelSource.Metal source) {
    DeclaredParameters parameters = new DeclaredParameters(source.entry(), source.parameters());
    CompiledKernel kernel = CompiledKernel.compile(device, source.source(), source.entry());
    try {
      new SourceParameters(kernel).check(parameters.all());
      return new HandWrittenProgram(kernel, parameters, device.properties().unified());
    } catch (RuntimeException | Error refused) {
      kernel.close();
      throw refused;
    }
  }

  @Override
  void bind(KernelArguments arguments, Launch launch) {
    parameters.requireFit(launch.arguments());
    LaunchRange range = launch.range();
    requireGroupMemory(range.localBytes());
    long[] group =
        range.group().isEmpty()
            ? kernel().groups().dividing(range, GROUP, kernel().width())
            : kernel().groups().asked(range);
    long[] groups = Groups.of(kernel(), range, group);
    for (int i = 0; i < parameters.all().size(); i++) {
      add(arguments, parameters.all().get(i), launch.arguments().get(i));
    }
    arguments.run(kernel(), groups, group, range.localBytes());
  }

  private void add(KernelArguments arguments, KernelParameter parameter, KernelArgument argument) {
    switch (argument) {
      case KernelArgument.Array array -> {
        long own = parameter.type().layout().byteAlignment();
        arguments.addPointer(
            array,
            parameter.access().writes() ? own : Math.max(own, constantAlignment),
            parameter.access());
      }
      case KernelArgument.Scalar scalar ->
          arguments.addReference(
              ScalarBytes.of(scalar.value(), parameter.type(), arguments.scratch()));
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
