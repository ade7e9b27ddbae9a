package dev.tidepool.cuda;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelParameter.Access;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.c.CudaC;
import dev.tidepool.methods.c.DeviceLimits;
import dev.tidepool.methods.c.MethodGenerator;
import dev.tidepool.methods.c.MethodText;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.ScalarBytes;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** A Java method as generated CUDA C++. */
final class MethodProgram extends CudaProgram {
  // A multiple of the warp; enough blocks fit on a multiprocessor to hide the memory's latency.
  private static final int BLOCK = 256;
  // A thread has 512 KiB of local memory; a part is left for variables.
  private static final long ITEM_MEMORY = 500 << 10;
  // The shared memory of each block by default.
  private static final long GROUP_MEMORY = 48 << 10;

  private final MethodText text;
  private final String name;
  private final List<KernelParameter> parameters;

  private MethodProgram(
      LoadedKernel kernel, MethodText text, String name, List<KernelParameter> parameters) {
    super(kernel);
    this.text = text;
    this.name = name;
    this.parameters = parameters;
  }

  static MethodProgram compile(
      CudaDevice device, KernelSource.Method source, List<KernelParameter> parameters) {
    KernelTree tree = MethodReader.read(source);
    MethodText text =
        MethodGenerator.generate(tree, new CudaC(), limits(device.name()), source.isChecked());
    byte[] code = device.compiler().compile(source.name(), text.source(), ElementwiseProgram.EXACT);
    return new MethodProgram(
        LoadedKernel.load(device, code, text.entry()),
        text,
        tree.className() + "." + tree.methodName(),
        parameters);
  }

  /** Returns the limits of every CUDA device. */
  static DeviceLimits limits(String name) {
    return new DeviceLimits(true, true, true, ITEM_MEMORY, GROUP_MEMORY, name);
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
          addArray(arguments, array, size, parameter.access());
          arguments.addInt(Math.toIntExact(array.bytes() / size));
        }
        case KernelArgument.Scalar scalar -> {
          MemorySegment value =
              ScalarBytes.of(scalar.value(), parameter.type(), arguments.scratch());
          arguments.add(value);
        }
      }
    }
    LaunchRange range = launch.range();
    int dimensions = range.global().size();
    for (int dimension = 0; dimension < 3; dimension++) {
      arguments.addLong(dimension < dimensions ? range.global().get(dimension) : 1);
    }
    if (text.reportsFaults()) {
      addArray(
          arguments,
          (KernelArgument.Array) launch.arguments().getLast(),
          Integer.BYTES,
          Access.INOUT);
    }
    long[] block =
        range.group().isEmpty()
            ? kernel().groups().covering(range, BLOCK)
            : kernel().groups().named(name).asked(range);
    arguments.run(kernel(), Grids.of(kernel(), range, block), block, 0);
  }

  private static void addArray(
      KernelArguments arguments, KernelArgument.Array array, int size, Access access) {
    arguments.addArray(array, size, access);
    // The address is already that of the first element.
    arguments.addLong(0);
  }
}
