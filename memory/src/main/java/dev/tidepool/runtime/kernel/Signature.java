package dev.tidepool.runtime.kernel;

import dev.tidepool.Arguments;
import dev.tidepool.KernelParameter;
import dev.tidepool.LaunchRange;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The parameters of a kernel, and the checks of arguments against them. */
interface Signature {
  /**
   * Returns arguments that were given in order, by name.
   *
   * @throws IllegalArgumentException if there are too many or too few, or parameters have no order
   */
  Arguments named(Arguments arguments);

  /**
   * Returns the parameters for these arguments, in the order of launches.
   *
   * @param asked the range that the caller requested, if any
   * @throws IllegalArgumentException if an argument is missing, unknown, or of the wrong kind or
   *     type
   */
  List<KernelParameter> parameters(Arguments arguments, @Nullable LaunchRange asked);

  /** Returns the parameters that hold for all arguments; null if the arguments decide them. */
  default @Nullable List<KernelParameter> declared() {
    return null;
  }

  /** Returns the parameters that code is compiled for, given those of a launch. */
  default List<KernelParameter> compiled(List<KernelParameter> parameters) {
    return parameters;
  }

  /** Returns the value of a scalar argument, converted to the type of its parameter. */
  Object scalar(KernelParameter parameter, Object value);

  /**
   * Returns the range of one run.
   *
   * @param parameters of the launch
   * @param lengths the number of elements of the argument for each parameter; -1 for a scalar
   * @param asked the range that the caller requested, if any
   * @throws IllegalArgumentException if the lengths or the range do not fit together
   */
  LaunchRange range(List<KernelParameter> parameters, long[] lengths, @Nullable LaunchRange asked);

  /**
   * Returns whether an array that overlaps a written one, at another offset, must be copied first
   * so that every item sees its old contents.
   */
  default boolean isolatesOverlaps() {
    return false;
  }

  /**
   * Returns the parameters whose elements decide which barriers the items of a group reach. If a
   * written array overlapped one of them, items could reach different barriers, and some devices
   * would never end.
   */
  default Set<String> decidingArrays() {
    return Set.of();
  }
}
