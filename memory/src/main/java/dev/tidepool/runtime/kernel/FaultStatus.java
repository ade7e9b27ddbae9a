package dev.tidepool.runtime.kernel;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.HostRegion;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.tree.Faults;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Site;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The array in which a program tells that one of its items failed, as {@link
 * dev.tidepool.spi.Program#reportsFaults} describes it.
 */
final class FaultStatus {
  /** Its length. */
  static final int INTS = 4;

  /** How launches use it. */
  static final KernelParameter PARAMETER = KernelParameter.out("fault status", ElementType.INT);

  private FaultStatus() {}

  /** Makes an array ready for a launch. */
  static void clear(DeviceLink link, KernelArgument.Array status) {
    link.fill(status.block(), status.offset(), status.bytes(), (byte) 0);
  }

  /**
   * Looks whether an item of a launch, which has ended, failed.
   *
   * @throws ArrayIndexOutOfBoundsException if one used an index outside of an array
   * @throws ArithmeticException if one divided an integer by zero
   */
  static void check(
      DeviceLink link, KernelArgument.Array status, KernelSource source, Launch launch) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment found = arena.allocate(JAVA_INT, INTS);
      var _ = link.download(status.block(), status.offset(), new HostRegion.Segment(found, false));
      int place = found.getAtIndex(JAVA_INT, 0);
      if (place != 0) {
        KernelTree tree = MethodReader.read((KernelSource.Method) source);
        Site site = tree.sites().get(place - 1);
        throw Faults.of(site, found.getAtIndex(JAVA_INT, 1), length(site, tree, launch));
      }
    }
  }

  private static int length(Site site, KernelTree tree, Launch launch) {
    if (site.parameter() < 0) {
      return site.length();
    }
    KernelArgument.Array array = (KernelArgument.Array) launch.arguments().get(site.parameter());
    return (int) (array.bytes() / tree.parameters().get(site.parameter()).kind().bytes());
  }
}
