package dev.tidepool.spi;

import dev.tidepool.LaunchRange;
import java.util.List;

/**
 * One run of a program.
 *
 * @param program the program
 * @param arguments an argument for each parameter, in order
 * @param range the range of items; for an elementwise program one dimension, the number of elements
 */
public record Launch(Program program, List<KernelArgument> arguments, LaunchRange range) {
  /** Copies the list. */
  public Launch {
    arguments = List.copyOf(arguments);
  }
}
