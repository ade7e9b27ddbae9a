package dev.tidepool.expression.types;

import dev.tidepool.KernelParameter;
import dev.tidepool.expression.types.TypedProgram.ArrayParameter;
import dev.tidepool.expression.types.TypedProgram.Uniform;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What a launch gives, in the order in which a kernel of the {@code CGenerator} takes it: each
 * array, then each uniform, then the number of elements. Immutable.
 */
public final class KernelBinding {
  private final TypedProgram program;
  private final List<KernelParameter> parameters;
  // For each array of the program, which argument it is.
  private final List<Integer> positions;

  /**
   * Creates the binding of a program.
   *
   * @param parameters those that the program was resolved with, in the order of launches
   */
  public KernelBinding(TypedProgram program, List<KernelParameter> parameters) {
    this.program = program;
    this.parameters = List.copyOf(parameters);
    List<String> names = parameters.stream().map(KernelParameter::name).toList();
    this.positions = program.arrays().stream().map(array -> names.indexOf(array.name())).toList();
  }

  /**
   * The bytes of an array of the program.
   *
   * @param bytes where they are
   * @param elementBytes of one element
   * @param access what the program does with them
   */
  public record BoundArray(
      KernelArgument.Array bytes, int elementBytes, KernelParameter.Access access) {}

  /**
   * Returns how many elements a launch computes.
   *
   * @throws IllegalArgumentException if it has another number of arguments or dimensions than one
   */
  public long count(Launch launch) {
    if (launch.arguments().size() != parameters.size()) {
      throw new IllegalArgumentException(
          "'"
              + program.expression()
              + "' takes "
              + parameters.size()
              + " arguments, not "
              + launch.arguments().size());
    }
    if (launch.range().global().size() != 1) {
      throw new IllegalArgumentException(
          "an expression runs over one dimension, its elements, not over "
              + launch.range().global());
    }
    return launch.range().global().getFirst();
  }

  /**
   * Returns the arrays, in the order of the kernel.
   *
   * @throws IllegalArgumentException if one is a value, or has fewer elements than are computed
   */
  public List<BoundArray> arrays(Launch launch) {
    long count = count(launch);
    List<BoundArray> arrays = new ArrayList<>(positions.size());
    for (int i = 0; i < positions.size(); i++) {
      arrays.add(array(program.arrays().get(i), launch.arguments().get(positions.get(i)), count));
    }
    return arrays;
  }

  private BoundArray array(ArrayParameter array, KernelArgument argument, long count) {
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
    return new BoundArray(bytes, size, array.access());
  }

  /** Returns the uniforms as the kernel takes them, in its order. */
  public List<MemorySegment> uniforms(Launch launch, SegmentAllocator allocator) {
    List<Uniform> uniforms = program.uniforms();
    long[] values = program.uniformValues(scalars(launch.arguments()));
    List<MemorySegment> bound = new ArrayList<>(values.length);
    for (int i = 0; i < values.length; i++) {
      MemorySegment bytes = allocator.allocate(uniforms.get(i).type().byteSize(), Long.BYTES);
      TypedProgram.storeUniform(uniforms.get(i), values[i], bytes, 0);
      bound.add(bytes);
    }
    return bound;
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
