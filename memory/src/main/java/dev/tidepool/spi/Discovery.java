package dev.tidepool.spi;

import java.util.List;
import java.util.function.Supplier;

/**
 * The result of a provider's discovery.
 *
 * @param devices the opened devices, the best first
 * @param notes notes for users about what is absent or broken, and why; a line each
 */
public record Discovery(List<Device> devices, List<String> notes) {
  private static final ScopedValue<List<AcceleratorProvider>> CHOSEN = ScopedValue.newInstance();

  /** Copies the lists. */
  public Discovery {
    devices = List.copyOf(devices);
    notes = List.copyOf(notes);
  }

  /**
   * Runs an action in which discovery uses the given providers instead of the installed ones. Tests
   * of backends use this for decorated or simulated devices. The CPU is still found.
   */
  public static <T> T using(List<AcceleratorProvider> providers, Supplier<T> action) {
    return ScopedValue.where(CHOSEN, List.copyOf(providers)).call(action::get);
  }

  /** Returns the providers that {@link #using} chose for this thread, or the installed ones. */
  public static List<AcceleratorProvider> chosenOr(Supplier<List<AcceleratorProvider>> installed) {
    return CHOSEN.isBound() ? CHOSEN.get() : installed.get();
  }
}
