package dev.tidepool.methods.tree;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The exceptions of failed kernels. */
public final class Faults {
  private Faults() {}

  /**
   * Returns the exception of an item that failed. Its stack trace begins with the place in the
   * source, followed by the calls that led there.
   *
   * @param index the index, if it was outside of the array
   * @param length the length of the array
   */
  public static RuntimeException of(Site site, int index, int length) {
    RuntimeException fault =
        switch (site.fault()) {
          case INDEX ->
              new ArrayIndexOutOfBoundsException(
                  "Index "
                      + index
                      + " out of bounds for length "
                      + length
                      + " of '"
                      + site.array()
                      + "'");
          case DIVISION -> new ArithmeticException("/ by zero");
        };
    List<StackTraceElement> whole = new ArrayList<>(site.frames());
    whole.addAll(Arrays.asList(fault.getStackTrace()));
    fault.setStackTrace(whole.toArray(StackTraceElement[]::new));
    return fault;
  }

  /**
   * Returns the failure of a launch without a range, whose message says how many items ran.
   *
   * @param fault an index outside of an array
   */
  public static ArrayIndexOutOfBoundsException withoutRange(
      ArrayIndexOutOfBoundsException fault, long items) {
    ArrayIndexOutOfBoundsException explained =
        new ArrayIndexOutOfBoundsException(
            fault.getMessage()
                + "; the launch had no range, so "
                + items
                + " items ran, one for each element of the longest array");
    explained.setStackTrace(fault.getStackTrace());
    return explained;
  }
}
