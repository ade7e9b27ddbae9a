package dev.tidepool.opencl;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelParameter.Access;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.methods.analysis.KernelMemory;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.c.DeviceLimits;
import dev.tidepool.methods.c.MethodGenerator;
import dev.tidepool.methods.c.MethodText;
import dev.tidepool.methods.c.OpenClC;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.ScalarBytes;
import java.util.Arrays;
import java.util.List;

/**
 * A Java method as generated OpenCL C. Each array is a pointer and an offset in elements, so that a
 * slice needs no buffer object of its own.
 */
final class MethodProgram extends OpenClProgram {
  // Groups on processors: wide enough for vector units, and several for each processor.
  private static final long LARGEST_GROUP = 1024;
  private static final long SMALLEST_GROUP = 8;
  private static final long GROUPS = 16;
  private static final long GPU_GROUP = 256;

  /**
   * The most bytes of a group's items. A processor's driver keeps the own memory of the items of a
   * group on the stack of one thread. The stack has 1 MiB or more, and an overflow ends the
   * process.
   */
  private static final long STACK_OF_GROUP = 512 << 10;

  private final MethodText text;
  private final String name;
  private final long itemMemory;
  private final boolean runsInPairs;
  private final List<KernelParameter> parameters;

  private MethodProgram(
      CompiledKernel code,
      MethodText text,
      KernelTree tree,
      boolean runsInPairs,
      List<KernelParameter> parameters) {
    super(code);
    this.text = text;
    this.name = tree.className() + "." + tree.methodName();
    this.itemMemory = KernelMemory.of(tree).item();
    this.runsInPairs = runsInPairs;
    this.parameters = parameters;
  }

  static MethodProgram compile(
      OpenClDevice device, KernelSource.Method source, List<KernelParameter> parameters) {
    DeviceProperties properties = device.properties();
    boolean exactDivision = properties.correctlyRoundedDivideSqrt();
    DeviceLimits limits =
        new DeviceLimits(
            properties.fp64(),
            exactDivision,
            properties.longAtomics(),
            properties.isGpu() ? Long.MAX_VALUE : STACK_OF_GROUP,
            properties.localMemory(),
            device.name());
    KernelTree tree = MethodReader.read(source);
    // PoCL prints to the error stream how many warnings its compiler has of the generated text.
    String options =
        "-w -cl-std=CL1.2" + (exactDivision ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
    if (properties.pocl()) {
      PoclBarriers.check(tree, source.isChecked());
      options += PoclBarriers.mayBeOptimized(tree) ? "" : " -cl-opt-disable";
    }
    MethodText text =
        MethodGenerator.generate(tree, new OpenClC(properties.pocl()), limits, source.isChecked());
    return new MethodProgram(
        CompiledKernel.compile(device, text.source(), text.entry(), options),
        text,
        tree,
        /* runsInPairs= */ !properties.pocl() || PoclBarriers.mayRunInPairs(tree),
        parameters);
  }

  @Override
  public boolean reportsFaults() {
    return text.reportsFaults();
  }

  @Override
  void launch(KernelArguments bound, Launch launch) {
    int index = 0;
    for (int i = 0; i < parameters.size(); i++) {
      KernelParameter parameter = parameters.get(i);
      switch (launch.arguments().get(i)) {
        case KernelArgument.Array array -> {
          int size = (int) parameter.type().byteSize();
          bound.bindElements(index, array, size, parameter.access());
          bound.bindInt(index + 2, Math.toIntExact(array.bytes() / size));
          index += 3;
        }
        case KernelArgument.Scalar scalar ->
            bound.bindValue(
                index++, ScalarBytes.of(scalar.value(), parameter.type(), bound.scratch()));
      }
    }
    LaunchRange range = launch.range();
    int dimensions = range.global().size();
    for (int dimension = 0; dimension < 3; dimension++) {
      bound.bindLong(index++, dimension < dimensions ? range.global().get(dimension) : 1);
    }
    if (text.reportsFaults()) {
      KernelArgument.Array status = (KernelArgument.Array) launch.arguments().getLast();
      bound.bindElements(index, status, Integer.BYTES, Access.INOUT);
    }
    long[] group = Arrays.copyOf(group(range), dimensions);
    long[] global = new long[dimensions];
    for (int dimension = 0; dimension < dimensions; dimension++) {
      long size = range.global().get(dimension);
      // Items beyond the range do nothing.
      global[dimension] =
          Math.addExact(size, group[dimension] - 1) / group[dimension] * group[dimension];
    }
    bound.run(global, group);
  }

  /**
   * Returns the requested group, or one that suits the device.
   *
   * @throws IllegalArgumentException if the requested group is too large, or if PoCL cannot run the
   *     kernel in groups of that size
   */
  private long[] group(LaunchRange range) {
    boolean isGpu = code().device().properties().isGpu();
    long most = isGpu || itemMemory == 0 ? Long.MAX_VALUE : STACK_OF_GROUP / itemMemory;
    if (!range.group().isEmpty()) {
      long[] asked = code().groups().named(name).asked(range);
      long items = Arrays.stream(asked).reduce(1, Math::multiplyExact);
      if (items == 2 && !runsInPairs) {
        throw new IllegalArgumentException(
            "kernel "
                + name
                + " cannot run on PoCL in groups of 2 items, where barriers may end the process:"
                + " launch larger groups, or use cpu:0");
      }
      if (items > most) {
        throw new IllegalArgumentException(
            "groups of "
                + range.group()
                + " are too large for kernel "
                + name
                + " on "
                + code().device().name()
                + ": an item has "
                + itemMemory
                + " bytes of its own, and a group may have "
                + STACK_OF_GROUP
                + "; launch groups of at most "
                + most
                + " items, or use smaller arrays");
      }
      return asked;
    }
    long wanted =
        isGpu ? GPU_GROUP : Math.clamp(range.items() / GROUPS, SMALLEST_GROUP, LARGEST_GROUP);
    return code().groups().covering(range, Math.min(wanted, most));
  }
}
