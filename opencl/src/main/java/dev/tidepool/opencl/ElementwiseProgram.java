package dev.tidepool.opencl;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.expression.CGenerator;
import dev.tidepool.expression.DeviceTraits;
import dev.tidepool.expression.Dialect;
import dev.tidepool.expression.Expression;
import dev.tidepool.expression.KernelText;
import dev.tidepool.expression.TypedProgram;
import dev.tidepool.expression.TypedProgram.ArrayParameter;
import dev.tidepool.expression.TypedProgram.Uniform;
import dev.tidepool.spi.KernelArgument;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * An expression of the elementwise language as generated OpenCL C. The generated kernel takes each
 * array as the start of its block and an offset in elements, so that a slice needs no buffer object
 * of its own.
 */
final class ElementwiseProgram extends OpenClProgram {
  // Wide enough to fill vector units and multiprocessors; narrower devices allow less.
  private static final long GROUP = 1024;
  private static final long GPU_GROUP = 256;

  private final TypedProgram program;
  private final List<KernelParameter> parameters;
  // For each array of the program, which argument it is.
  private final List<Integer> positions;
  private final long group;

  private ElementwiseProgram(
      CompiledKernel code, TypedProgram program, List<KernelParameter> parameters) {
    super(code);
    this.program = program;
    this.parameters = List.copyOf(parameters);
    List<String> names = parameters.stream().map(KernelParameter::name).toList();
    this.positions = program.arrays().stream().map(array -> names.indexOf(array.name())).toList();
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
    CompiledKernel code = CompiledKernel.compile(device, text.source(), text.entry(), options);
    return new ElementwiseProgram(code, program, parameters);
  }

  @Override
  void launch(KernelArguments bound, List<KernelArgument> arguments, LaunchRange range) {
    if (arguments.size() != parameters.size()) {
      throw wrongCount(parameters.size(), arguments.size());
    }
    if (range.global().size() != 1) {
      throw new IllegalArgumentException(
          "an expression runs over one dimension, its elements, not over " + range.global());
    }
    long count = range.global().getFirst();
    int index = 0;
    for (int i = 0; i < positions.size(); i++) {
      bindArray(bound, index, program.arrays().get(i), arguments.get(positions.get(i)), count);
      index += 2;
    }
    List<Uniform> uniforms = program.uniforms();
    long[] values = program.uniformValues(scalars(arguments));
    for (int i = 0; i < values.length; i++) {
      Uniform uniform = uniforms.get(i);
      MemorySegment bytes = bound.scratch().allocate(uniform.type().byteSize(), Long.BYTES);
      TypedProgram.storeUniform(uniform, values[i], bytes, 0);
      bound.bindValue(index++, bytes);
    }
    bound.bindLong(index, count);
    long rounded = Math.addExact(count, group - 1) / group * group;
    bound.run(new long[] {rounded}, new long[] {group});
  }

  private void bindArray(
      KernelArguments bound, int index, ArrayParameter array, KernelArgument argument, long count) {
    if (!(argument instanceof KernelArgument.Array bytes)) {
      throw new IllegalArgumentException(
          "'" + array.name() + "' of '" + program.expression() + "' takes an array, not a value");
    }
    int size = array.type().byteSize();
    if (bytes.bytes() / size < count) {
      throw new IllegalArgumentException(
          "'"
              + array.name()
              + "' of '"
              + program.expression()
              + "' has "
              + bytes.bytes() / size
              + " elements, fewer than the "
              + count
              + " of the range");
    }
    if (bytes.offset() % size == 0 && !(bytes.block() instanceof PinnedBlock)) {
      bound.bindBase(index, bytes);
      bound.bindLong(index + 1, bytes.offset() / size);
    } else {
      bound.bindStage(index, bytes, KernelParameter.Access.valueOf(array.access().name()));
      bound.bindLong(index + 1, 0);
    }
  }

  private Map<String, Object> scalars(List<KernelArgument> arguments) {
    Map<String, Object> scalars = new HashMap<>();
    for (int i = 0; i < arguments.size(); i++) {
      if (arguments.get(i) instanceof KernelArgument.Scalar scalar) {
        scalars.put(parameters.get(i).name(), weak(scalar.value(), parameters.get(i)));
      }
    }
    return scalars;
  }

  /** The value in the kind that its parameter was declared with. */
  private static Object weak(Object value, KernelParameter parameter) {
    Class<?> carrier = parameter.type().arrayClass();
    if (value instanceof Number number && (carrier == float[].class || carrier == double[].class)) {
      return number.doubleValue();
    }
    return value;
  }
}
