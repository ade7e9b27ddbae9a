package dev.tidepool.spi;

import java.util.List;
import java.util.function.Supplier;

/**
 * What a provider found.
 *
 * @param devices opened devices, best first
 * @param notes what is absent or broken and why, a line each, for people to read
 */
public record Discovery(List<Device> devices, List<String> notes) {
  private static final ScopedValue<List<AcceleratorProvider>> CHOSEN = ScopedValue.newInstance();

  /** Copies the lists. */
  public Discovery {
    devices = List.copyOf(devices);
    notes = List.copyOf(notes);
  }

  /**
   * Runs an action in which discovery asks the given providers only, and not those installed. For
   * tests of backends: decorated or simulated devices stand in without being installed. The CPU is
   * found all the same.
   */
  public static <T> T using(List<AcceleratorProvider> providers, Supplier<T> action) {
    return ScopedValue.where(CHOSEN, List.copyOf(providers)).call(action::get);
  }

  /** Returns the providers that {@link #using} chose for this thread, or those given. */
  public static List<AcceleratorProvider> chosenOr(Supplier<List<AcceleratorProvider>> installed) {
    return CHOSEN.isBound() ? CHOSEN.get() : installed.get();
  }
}
