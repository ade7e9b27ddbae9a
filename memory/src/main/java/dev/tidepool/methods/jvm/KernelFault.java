package dev.tidepool.methods.jvm;

import dev.tidepool.methods.tree.Faults;
import dev.tidepool.methods.tree.Site;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * A failure of generated code at a site. It becomes the exception that the kernel's user sees. The
 * stack trace of that exception begins in the kernel's source: generated classes are hidden from
 * stack traces.
 */
final class KernelFault extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The site if the tree has none. */
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

  /** Returns the fault of an index outside of an array. */
  static KernelFault index(int index, int length, int site) {
    return new KernelFault(site, index, length);
  }

  /** Returns the fault of a division by zero. */
  static KernelFault division(int site) {
    return new KernelFault(site, 0, 0);
  }

  /** Returns the exception for this fault. */
  RuntimeException exception(List<Site> sites) {
    if (site == NOWHERE) {
      return new ArithmeticException("/ by zero");
    }
    return Faults.of(sites.get(site), index, length);
  }

  /** Writes the site and the index as devices do; throws the exception if there is no site. */
  void report(MemorySegment status) {
    if (site == NOWHERE) {
      throw exception(List.of());
    }
    status.set(ValueLayout.JAVA_INT_UNALIGNED, 0, site + 1);
    status.set(ValueLayout.JAVA_INT_UNALIGNED, Integer.BYTES, index);
  }
}
