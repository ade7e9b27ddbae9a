package dev.tidepool.methods.tree;

/** The exceptions that kernels fail with. */
public final class Faults {
  private Faults() {}

  /**
   * The exception of an item that failed, with its place in the source on top of the stack trace.
   *
   * @param index of the array, if that was outside
   * @param length of the array
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
    StackTraceElement[] thrown = fault.getStackTrace();
    StackTraceElement[] whole = new StackTraceElement[thrown.length + 1];
    whole[0] = site.frame();
    System.arraycopy(thrown, 0, whole, 1, thrown.length);
    fault.setStackTrace(whole);
    return fault;
  }
}
