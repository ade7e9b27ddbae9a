package dev.tidepool.methods.jvm;

import dev.tidepool.methods.tree.Site;
import java.util.List;

/**
 * What generated code throws at a site. It becomes the exception that the kernel's user sees, whose
 * stack trace begins in the kernel's source: generated classes are hidden from stack traces.
 */
final class KernelFault extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** In place of a site: the tree has none. */
  static final int NOWHERE = -1;

  private final int site;
  private final int index;
  private final int length;

  private KernelFault(int site, int index, int length) {
    super(null, null, false, false);
    this.site = site;
    this.index = index;
    this.length = length;
  }

  /** An index outside of an array. */
  static KernelFault index(int index, int length, int site) {
    return new KernelFault(site, index, length);
  }

  /** A division by zero. */
  static KernelFault division(int site) {
    return new KernelFault(site, 0, 0);
  }

  /** The exception that says so. */
  RuntimeException exception(List<Site> sites) {
    if (site == NOWHERE) {
      return new ArithmeticException("/ by zero");
    }
    Site place = sites.get(site);
    RuntimeException exception =
        switch (place.fault()) {
          case INDEX ->
              new ArrayIndexOutOfBoundsException(
                  "Index %d out of bounds for length %d in array '%s'"
                      .formatted(index, length, place.array()));
          case DIVISION -> new ArithmeticException("/ by zero");
        };
    StackTraceElement[] here = exception.getStackTrace();
    StackTraceElement[] trace = new StackTraceElement[here.length + 1];
    trace[0] = place.frame();
    System.arraycopy(here, 0, trace, 1, here.length);
    exception.setStackTrace(trace);
    return exception;
  }
}
