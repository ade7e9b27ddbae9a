package dev.tidepool.cuda;

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
import java.util.List;

/** An expression of the elementwise language as generated CUDA C++. */
final class ElementwiseProgram extends CudaProgram {
  /** IEEE 754 arithmetic: no fused operations, no flush to zero, no approximate quotients. */
  static final List<String> EXACT =
      List.of("--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false");

  // A multiple of the warp; enough blocks fit on a multiprocessor to hide the memory's latency.
  private static final int BLOCK = 256;

  private final KernelBinding binding;
  private final int elementsPerThread;

  private ElementwiseProgram(LoadedKernel kernel, KernelBinding binding, int elementsPerThread) {
    super(kernel);
    this.binding = binding;
    this.elementsPerThread = elementsPerThread;
  }

  static ElementwiseProgram compile(
      CudaDevice device, KernelSource.Elementwise source, List<KernelParameter> parameters) {
    TypedProgram program = Expression.parse(source.expression()).resolve(parameters);
    KernelText text = CGenerator.generate(program, Dialect.CUDA_C, new DeviceTraits(true, true));
    // Blanks replace the reductions.
    String name = source.expression().strip().replaceAll("\\s+", " ");
    byte[] code = device.compiler().compile(name, text.source(), EXACT);
    return new ElementwiseProgram(
        LoadedKernel.load(device, code, text.entry()),
        new KernelBinding(program, parameters),
        text.elementsPerItem());
  }

  @Override
  void bind(KernelArguments arguments, Launch launch) {
    long count = binding.count(launch);
    for (BoundArray array : binding.arrays(launch)) {
      arguments.addArray(array.bytes(), array.elementBytes(), array.access());
      // The address is already that of the first element.
      arguments.addLong(0);
    }
    binding.uniforms(launch, arguments.scratch()).forEach(arguments::add);
    arguments.addLong(count);
    long block = Math.min(BLOCK, kernel().maxThreads());
    long elements = block * elementsPerThread;
    long blocks = Math.toIntExact((count + elements - 1) / elements);
    arguments.run(kernel(), new long[] {blocks, 1, 1}, new long[] {block, 1, 1}, 0);
  }
}
