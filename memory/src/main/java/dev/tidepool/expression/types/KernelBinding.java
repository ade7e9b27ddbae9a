package dev.tidepool.expression.types;

import dev.tidepool.KernelParameter;
import dev.tidepool.expression.types.TypedProgram.ArrayParameter;
import dev.tidepool.expression.types.TypedProgram.Uniform;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Orders the arguments of a launch as a kernel of the {@code CGenerator} takes them: each array,
 * then each uniform, then the number of elements. Immutable.
 */
public final class KernelBinding {
  private final TypedProgram program;
  private final List<KernelParameter> parameters;
  // For each array of the program, the index of its argument.
  private final List<Integer> positions;

  /**
   * Creates the binding of a program.
   *
   * @param parameters the parameters with which the program was resolved, in the order of launches
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
   * @param bytes the array's memory
   * @param elementBytes the bytes of one element
   * @param access how the program accesses them
   */
  public record BoundArray(
      KernelArgument.Array bytes, int elementBytes, KernelParameter.Access access) {}

  /**
   * Returns the number of elements that a launch computes.
   *
   * @throws IllegalArgumentException if the number of arguments is wrong, or if the range does not
   *     have one dimension
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
   * @throws IllegalArgumentException if an argument is a value, or has fewer elements than are
   *     computed
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

  /** Returns the uniforms in the form and order in which the kernel takes them. */
  public List<MemorySegment> uniforms(Launch launch, SegmentAllocator allocator) {
    List<Uniform> uniforms = program.uniforms();
    long[] values = program.uniformValues(scalars(launch.arguments()));
    List<MemorySegment> bound = new ArrayList<>(values.length);
    for (int i = 0; i < values.length; i++) {
      MemorySegment bytes = allocator.allocate(uniforms.get(i).type().byteSize(), Long.BYTES);
      store(values[i], bytes);
      bound.add(bytes);
    }
    return bound;
  }

  /** Writes the low bytes of a value in the machine's byte order. */
  private static void store(long bits, MemorySegment destination) {
    switch ((int) destination.byteSize()) {
      case 1 -> destination.set(ValueLayout.JAVA_BYTE, 0, (byte) bits);
      case 2 -> destination.set(ValueLayout.JAVA_SHORT, 0, (short) bits);
      case 4 -> destination.set(ValueLayout.JAVA_INT, 0, (int) bits);
      default -> destination.set(ValueLayout.JAVA_LONG, 0, bits);
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

  /** Returns a value in the kind of its declared parameter. */
  private static Object weak(Object value, KernelParameter parameter) {
    Class<?> carrier = parameter.type().arrayClass();
    if (value instanceof Number number && (carrier == float[].class || carrier == double[].class)) {
      return number.doubleValue();
    }
    return value;
  }
}
