package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorKind;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Collectors;

/**
 * The accelerator that was asked for, opened. Only the drivers that the id needs are loaded: that
 * costs tens of milliseconds each.
 *
 * @param tidepool what holds it open
 * @param accelerator the one chosen
 * @param isAutomatic whether the choice was ours
 */
record Selection(Tidepool tidepool, Accelerator accelerator, boolean isAutomatic)
    implements AutoCloseable {
  /** The id that leaves the choice to us. */
  static final String AUTO = "auto";

  private static final String CPU = "cpu:0";

  /**
   * Opens an accelerator by its id, or for {@code auto} the best that is more than this machine's
   * CPU under another driver, and else {@code cpu:0}.
   *
   * @throws WrongArguments if there is none of that id; the message lists those that are
   */
  static Selection open(String id, MemoryOptions options) {
    Tidepool tidepool = Discovery.using(providers(id), () -> Tidepool.open(options));
    try {
      return new Selection(tidepool, choose(tidepool.accelerators(), id), id.equals(AUTO));
    } catch (RuntimeException e) {
      tidepool.close();
      throw e;
    }
  }

  private static List<AcceleratorProvider> providers(String id) {
    if (id.equals(CPU)) {
      return List.of();
    }
    return needed(
        id,
        ServiceLoader.load(AcceleratorProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .toList());
  }

  /** Those of the installed providers that have to be asked for an id. */
  static List<AcceleratorProvider> needed(String id, List<AcceleratorProvider> installed) {
    if (id.equals(AUTO)) {
      return installed.stream().filter(provider -> !provider.offersOnlyTheCpu()).toList();
    }
    List<AcceleratorProvider> named =
        installed.stream().filter(provider -> id.startsWith(provider.name() + ":")).toList();
    return named.isEmpty() ? installed : named;
  }

  private static Accelerator choose(List<Accelerator> accelerators, String id) {
    if (id.equals(AUTO)) {
      return accelerators.stream()
          .filter(accelerator -> accelerator.kind() != AcceleratorKind.CPU)
          .findFirst()
          .orElseGet(accelerators::getLast);
    }
    return accelerators.stream()
        .filter(accelerator -> accelerator.id().equals(id))
        .findFirst()
        .orElseThrow(() -> unknown(id));
  }

  private static WrongArguments unknown(String id) {
    try (Tidepool all = Tidepool.open()) {
      return new WrongArguments(
          "no accelerator '"
              + id
              + "'; this machine has "
              + all.accelerators().stream().map(Accelerator::id).collect(Collectors.joining(", ")));
    }
  }

  @Override
  public void close() {
    tidepool.close();
  }
}
