package dev.tidepool.spi.support;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.spi.KernelArgument;
import java.util.List;

/**
 * The parameters of a hand-written kernel, as its user declared them.
 *
 * @param kernel the name of the kernel in messages
 * @param all the parameters in their order
 */
public record DeclaredParameters(String kernel, List<KernelParameter> all) {
  /**
   * Checks that each parameter can be passed.
   *
   * @throws KernelCompilationException if a parameter is a struct by value
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
   * @throws IllegalArgumentException if their number is wrong, or an argument is a value instead of
   *     an array, or the reverse
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
