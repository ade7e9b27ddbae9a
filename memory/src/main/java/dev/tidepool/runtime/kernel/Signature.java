package dev.tidepool.runtime.kernel;

import dev.tidepool.Arguments;
import dev.tidepool.KernelParameter;
import dev.tidepool.LaunchRange;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a kernel takes, checked against what it is given. */
interface Signature {
  /**
   * The parameters for these arguments, in the order of launches.
   *
   * @throws IllegalArgumentException if an argument is missing, unknown, or of the wrong kind or
   *     type
   */
  List<KernelParameter> parameters(Arguments arguments);

  /**
   * The items of one run.
   *
   * @param lengths elements of the array arguments
   * @param asked the range that the caller asked for, if any
   * @throws IllegalArgumentException if they do not go together
   */
  LaunchRange range(List<Long> lengths, List<String> names, @Nullable LaunchRange asked);

  /**
   * Whether an array that overlaps a written one, at another offset, must be copied first so that
   * every item sees it as it was.
   */
  boolean isolatesOverlaps();
}
