package dev.tidepool.runtime.kernel;

import dev.tidepool.Arguments;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.methods.analysis.ArrayAccesses;
import dev.tidepool.methods.analysis.BarrierControl;
import dev.tidepool.methods.analysis.ItemNumbers;
import dev.tidepool.methods.analysis.MethodParameters;
import dev.tidepool.methods.analysis.Races;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.runtime.buffer.BufferHandle;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The signature of a Java method. The accesses to its arrays are derived from its bytecode. Whether
 * it writes all elements of an array also depends on the range.
 */
final class MethodSignature implements Signature {
  private static final System.Logger LOG = System.getLogger("dev.tidepool.kernels");

  private final DeclaredSignature declared;
  private final ArrayAccesses accesses;
  private final ItemNumbers numbers;
  private final Set<String> decidingArrays;
  private final boolean isLine;
  private final boolean anyOut;

  private MethodSignature(
      boolean isLine, DeclaredSignature declared, ArrayAccesses accesses, KernelTree tree) {
    this.isLine = isLine;
    this.declared = declared;
    this.accesses = accesses;
    this.numbers = ItemNumbers.of(tree);
    this.decidingArrays =
        BarrierControl.arrays(tree).stream()
            .map(index -> declared.declared().get(index).name())
            .collect(Collectors.toUnmodifiableSet());
    boolean any = false;
    for (int i = 0; i < declared.declared().size(); i++) {
      any |= accesses.isOut(i);
    }
    this.anyOut = any;
  }

  /**
   * Returns the signature of a method.
   *
   * @throws dev.tidepool.KernelCompilationException if the method cannot be translated
   */
  static MethodSignature of(KernelSource.Method source) {
    KernelTree tree = MethodReader.read(source);
    ArrayAccesses accesses = ArrayAccesses.of(tree);
    for (String array : Races.in(tree)) {
      LOG.log(
          System.Logger.Level.WARNING,
          "kernel {0} reads elements of {1} that other items may write at the same time; unless"
              + " every item uses elements of its own, that is a race: use atomic operations,"
              + " barriers, or a second array",
          source.owner().getSimpleName() + "." + source.name(),
          array);
    }
    return new MethodSignature(
        MethodReader.takesIndex(source),
        new DeclaredSignature(
            "kernel '" + source.name() + "'", MethodParameters.of(tree, accesses)),
        accesses,
        tree);
  }

  /** Returns the parameters with the accesses that hold for every range. */
  @Override
  public List<KernelParameter> declared() {
    return declared.declared();
  }

  @Override
  public Arguments named(Arguments arguments) {
    return declared.named(arguments);
  }

  @Override
  public List<KernelParameter> parameters(Arguments arguments, @Nullable LaunchRange asked) {
    List<KernelParameter> always = declared.parameters(arguments, asked);
    if (!anyOut || (asked != null && asked.global().size() != 1)) {
      return always;
    }
    long items = asked != null ? asked.items() : longest(arguments);
    List<KernelParameter> now = new ArrayList<>(always);
    for (int i = 0; i < now.size(); i++) {
      Object value = arguments.values().get(now.get(i).name());
      if (accesses.isOut(i)
          && value != null
          && length(value) == items
          && isAlone(value, arguments)) {
        now.set(i, MethodParameters.out(now.get(i)));
      }
    }
    return now;
  }

  private static long longest(Arguments arguments) {
    return arguments.values().values().stream().mapToLong(MethodSignature::length).max().orElse(1);
  }

  /** Returns the number of elements of an array or buffer; 0 for a scalar. */
  private static long length(Object value) {
    if (value instanceof UnifiedBuffer<?> buffer) {
      return buffer.length();
    }
    return value.getClass().isArray() ? Array.getLength(value) : 0;
  }

  /** Returns whether no other argument is the same array, buffer or storage. */
  private static boolean isAlone(Object value, Arguments arguments) {
    int uses = 0;
    for (Object other : arguments.values().values()) {
      boolean isSame =
          other.equals(value)
              || (value instanceof BufferHandle<?> one
                  && other instanceof BufferHandle<?> two
                  && one.storage() == two.storage());
      uses += isSame ? 1 : 0;
    }
    return uses == 1;
  }

  @Override
  public List<KernelParameter> compiled(List<KernelParameter> parameters) {
    return declared.declared();
  }

  @Override
  public Object scalar(KernelParameter parameter, Object value) {
    return declared.scalar(parameter, value);
  }

  @Override
  public LaunchRange range(
      List<KernelParameter> parameters, long[] lengths, @Nullable LaunchRange asked) {
    for (int i = 0; i < lengths.length; i++) {
      if (lengths[i] > Integer.MAX_VALUE) {
        throw new IllegalArgumentException(
            "'"
                + parameters.get(i).name()
                + "' has "
                + lengths[i]
                + " elements, but indices of Java arrays end at "
                + Integer.MAX_VALUE
                + "; pass slices");
      }
    }
    if (asked == null && numbers.dimensions() > 1) {
      throw new IllegalArgumentException(
          declared.kernel()
              + " uses the numbers of its items in "
              + numbers.dimensions()
              + " dimensions, and a launch without a range has one; pass a LaunchRange");
    }
    LaunchRange range = declared.range(parameters, lengths, asked);
    if (isLine && range.global().size() > 1) {
      throw new IllegalArgumentException(
          declared.kernel()
              + " takes the index of a range of one dimension, not of "
              + range.global()
              + "; have it take a WorkItem first, or launch a range of one dimension");
    }
    if (range.localBytes() > 0) {
      throw new IllegalArgumentException(
          declared.kernel()
              + " declares the memory of its groups itself; launch it without withLocalMemory");
    }
    for (int dimension = 0; dimension < range.global().size(); dimension++) {
      if (range.global().get(dimension) > Integer.MAX_VALUE && numbers.isInt(dimension)) {
        throw new IllegalArgumentException(
            "a range of "
                + range.global()
                + " has indices that do not fit the int that "
                + declared.kernel()
                + " makes of them; launch parts, or compute with long");
      }
    }
    if (numbers.usesGroups() && range.group().isEmpty()) {
      long[] ones = new long[range.global().size()];
      Arrays.fill(ones, 1);
      return range.inGroupsOf(ones);
    }
    return range;
  }

  @Override
  public Set<String> decidingArrays() {
    return decidingArrays;
  }
}
