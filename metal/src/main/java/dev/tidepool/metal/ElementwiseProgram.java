package dev.tidepool.metal;

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

/** An expression of the elementwise language in Metal's language. */
final class ElementwiseProgram extends MetalProgram {
  /** Metal has no doubles; quotients and roots of floats are exact with fast math off. */
  private static final DeviceTraits TRAITS = new DeviceTraits(false, true);

  private static final long GROUP = 256;

  private final KernelBinding binding;

  private ElementwiseProgram(CompiledKernel kernel, KernelBinding binding) {
    super(kernel);
    this.binding = binding;
  }

  static ElementwiseProgram compile(
      MetalDevice device, KernelSource.Elementwise source, List<KernelParameter> parameters) {
    TypedProgram program = Expression.parse(source.expression()).resolve(parameters);
    KernelText text = CGenerator.generate(program, Dialect.METAL, TRAITS);
    return new ElementwiseProgram(
        CompiledKernel.compile(device, text.source(), text.entry()),
        new KernelBinding(program, parameters));
  }

  @Override
  void bind(KernelArguments arguments, Launch launch) {
    for (BoundArray array : binding.arrays(launch)) {
      arguments.addArray(array.bytes(), array.elementBytes(), array.access());
    }
    binding.uniforms(launch, arguments.scratch()).forEach(arguments::addMember);
    long count = binding.count(launch);
    arguments.addLong(count);
    arguments.addStruct();
    long group = Math.min(GROUP, kernel().maxItems());
    arguments.run(kernel(), Groups.inLine(count, group), new long[] {group, 1, 1}, 0);
  }
}
