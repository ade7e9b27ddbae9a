package dev.tidepool.testkit.kernels;

import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedMemoryManager;
import java.util.List;
import java.util.function.Consumer;

/** How a launch receives the arrays of a random kernel. */
enum Passing {
  ARRAYS,
  BUFFERS,
  BUFFERS_OF_HOST,
  SLICES,
  SLICES_OF_HOST;

  /** The number of elements in front of a slice, and behind it. */
  static final int MARGIN = 5;

  /**
   * Returns a random one.
   *
   * @param isAnyTwice whether an array has two parameters
   */
  static Passing of(Decisions decisions, boolean isAnyTwice) {
    return decisions.chance(isAnyTwice ? 20 : 60) ? ARRAYS : decisions.pick(List.of(values()));
  }

  private boolean isSlices() {
    return this == SLICES || this == SLICES_OF_HOST;
  }

  /**
   * Returns how many elements an array with two parameters has behind those of the second one,
   * which is a slice of the first.
   */
  int elementsBehind() {
    return isSlices() ? MARGIN : 0;
  }

  /**
   * Runs a launch with arguments in this form, and copies the contents of buffers back.
   *
   * @param first the first of the parameters that may receive a part of their array
   * @param lengths the number of elements of these parameters
   */
  void launch(
      UnifiedMemoryManager memory,
      Object[] arguments,
      int first,
      List<Integer> lengths,
      Consumer<Object[]> launch) {
    if (this == ARRAYS) {
      launch.accept(arguments);
      return;
    }
    boolean isOfHost = this == BUFFERS_OF_HOST || this == SLICES_OF_HOST;
    MemoryLocation location = isOfHost ? MemoryLocation.HOST : MemoryLocation.DEVICE;
    try (PassedBuffers buffers =
        new PassedBuffers(memory, location, isSlices() ? MARGIN : 0, arguments, first, lengths)) {
      launch.accept(buffers.arguments());
      buffers.copyBack();
    }
  }
}
