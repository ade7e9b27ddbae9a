package dev.tidepool.opencl;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.expression.c.CGenerator;
import dev.tidepool.expression.c.Dialect;
import dev.tidepool.expression.c.KernelText;
import dev.tidepool.expression.types.DeviceTraits;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.KernelBinding;
import dev.tidepool.expression.types.KernelBinding.BoundArray;
import dev.tidepool.expression.types.TypedProgram;
import dev.tidepool.spi.Launch;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * An expression of the elementwise language as generated OpenCL C. The generated kernel takes each
 * array as a pointer and an offset in elements, so that a slice needs no buffer object of its own.
 */
final class ElementwiseProgram extends OpenClProgram {
  // Wide enough to fill vector units and multiprocessors; narrower devices allow less.
  private static final long GROUP = 1024;
  private static final long GPU_GROUP = 256;

  private final KernelBinding binding;
  private final long group;

  private ElementwiseProgram(CompiledKernel code, KernelBinding binding) {
    super(code);
    this.binding = binding;
    long wanted = code.device().properties().isGpu() ? GPU_GROUP : GROUP;
    this.group = Math.min(wanted, code.maxGroup());
  }

  static ElementwiseProgram compile(
      OpenClDevice device, KernelSource.Elementwise source, List<KernelParameter> parameters) {
    TypedProgram program = Expression.parse(source.expression()).resolve(parameters);
    DeviceProperties properties = device.properties();
    boolean exactDivision = properties.correctlyRoundedDivideSqrt();
    KernelText text =
        CGenerator.generate(
            program, Dialect.OPENCL_C, new DeviceTraits(properties.fp64(), exactDivision));
    String options =
        "-cl-std=CL1.2" + (exactDivision ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
    KernelBinding binding = new KernelBinding(program, parameters);
    CompiledKernel code = CompiledKernel.compile(device, text.source(), text.entry(), options);
    return new ElementwiseProgram(code, binding);
  }

  @Override
  void launch(KernelArguments bound, Launch launch) {
    long count = binding.count(launch);
    int index = 0;
    for (BoundArray array : binding.arrays(launch)) {
      bound.bindElements(index, array.bytes(), array.elementBytes(), array.access());
      index += 2;
    }
    for (MemorySegment uniform : binding.uniforms(launch, bound.scratch())) {
      bound.bindValue(index++, uniform);
    }
    bound.bindLong(index, count);
    long rounded = Math.addExact(count, group - 1) / group * group;
    bound.run(new long[] {rounded}, new long[] {group});
  }
}
