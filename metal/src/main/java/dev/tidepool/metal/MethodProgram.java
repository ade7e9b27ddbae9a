package dev.tidepool.metal;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelParameter.Access;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.c.DeviceLimits;
import dev.tidepool.methods.c.MetalC;
import dev.tidepool.methods.c.MethodGenerator;
import dev.tidepool.methods.c.MethodText;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.ScalarBytes;
import java.util.List;

/** A Java method in Metal's language. */
final class MethodProgram extends MetalProgram {
  private static final long GROUP = 256;
  // The least group memory of a GPU that runs these languages.
  private static final long GROUP_MEMORY = 32 << 10;

  private final MethodText text;
  private final String name;
  private final List<KernelParameter> parameters;

  private MethodProgram(
      CompiledKernel kernel, MethodText text, String name, List<KernelParameter> parameters) {
    super(kernel);
    this.text = text;
    this.name = name;
    this.parameters = parameters;
  }

  static MethodProgram compile(
      MetalDevice device, KernelSource.Method source, List<KernelParameter> parameters) {
    KernelTree tree = MethodReader.read(source);
    MethodText text =
        MethodGenerator.generate(
            tree,
            new MetalC(),
            new DeviceLimits(false, true, false, Long.MAX_VALUE, GROUP_MEMORY, device.name()),
            source.isChecked());
    return new MethodProgram(
        CompiledKernel.compile(device, text.source(), text.entry()),
        text,
        tree.className() + "." + tree.methodName(),
        parameters);
  }

  @Override
  public boolean reportsFaults() {
    return text.reportsFaults();
  }

  @Override
  void bind(KernelArguments arguments, Launch launch) {
    for (int i = 0; i < parameters.size(); i++) {
      KernelParameter parameter = parameters.get(i);
      switch (launch.arguments().get(i)) {
        case KernelArgument.Array array -> {
          int size = (int) parameter.type().byteSize();
          arguments.addArray(array, size, parameter.access());
          arguments.addInt(Math.toIntExact(array.bytes() / size));
        }
        case KernelArgument.Scalar scalar ->
            arguments.addMember(
                ScalarBytes.of(scalar.value(), parameter.type(), arguments.scratch()));
      }
    }
    LaunchRange range = launch.range();
    int dimensions = range.global().size();
    for (int dimension = 0; dimension < 3; dimension++) {
      arguments.addLong(dimension < dimensions ? range.global().get(dimension) : 1);
    }
    if (text.reportsFaults()) {
      KernelArgument.Array status = (KernelArgument.Array) launch.arguments().getLast();
      arguments.addArray(status, Integer.BYTES, Access.INOUT);
    }
    arguments.addStruct();
    long[] group =
        range.group().isEmpty()
            ? kernel().groups().covering(range, GROUP)
            : kernel().groups().named(name).asked(range);
    arguments.run(kernel(), Groups.of(kernel(), range, group), group, 0);
  }
}
