package dev.tidepool.spi.support;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.spi.KernelArgument;
import java.util.List;

/**
 * What a hand-written kernel takes, as its user declared it.
 *
 * @param kernel its name, for messages
 * @param all in their order
 */
public record DeclaredParameters(String kernel, List<KernelParameter> all) {
  /**
   * Checks that each can be passed.
   *
   * @throws KernelCompilationException if one is a struct by value
   */
  public DeclaredParameters {
    all = List.copyOf(all);
    for (KernelParameter parameter : all) {
      if (!parameter.access().isArray() && parameter.type().isStruct()) {
        throw new KernelCompilationException(
            "parameter '" + parameter.name() + "' is a struct by value; pass an array of one", "");
      }
    }
  }

  /**
   * Checks the arguments of a launch.
   *
   * @throws IllegalArgumentException if there is another number of them, or one is a value where an
   *     array belongs, or the reverse
   */
  public void requireFit(List<KernelArgument> arguments) {
    if (arguments.size() != all.size()) {
      throw new IllegalArgumentException(
          "kernel '" + kernel + "' takes " + all.size() + " arguments, not " + arguments.size());
    }
    for (int i = 0; i < all.size(); i++) {
      boolean wantsArray = all.get(i).access().isArray();
      if (wantsArray != arguments.get(i) instanceof KernelArgument.Array) {
        throw new IllegalArgumentException(
            "parameter '"
                + all.get(i).name()
                + "' of kernel '"
                + kernel
                + "' takes "
                + (wantsArray ? "an array" : "a value"));
      }
    }
  }
}
