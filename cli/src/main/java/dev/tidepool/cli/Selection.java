package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import java.util.HashSet;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Collectors;

/**
 * The selected accelerators, open. Only the drivers of the ids are loaded, because each takes tens
 * of milliseconds.
 *
 * @param tidepool owns the accelerators
 * @param accelerators the selected accelerators, at least one, in the order of their ids
 * @param isAutomatic whether the library selected the accelerator
 */
record Selection(Tidepool tidepool, List<Accelerator> accelerators, boolean isAutomatic)
    implements AutoCloseable {
  /** The id for which the library selects the accelerator. */
  static final String AUTO = "auto";

  private static final String CPU = "cpu:0";

  /**
   * Opens an accelerator by its id, or the best one for {@code auto}.
   *
   * @throws WrongArguments if no accelerator has the id; the message lists the ids
   */
  static Selection open(String id, MemoryOptions options) {
    return open(List.of(id), options);
  }

  /**
   * Opens several accelerators by their ids.
   *
   * @throws WrongArguments if no accelerator has one of the ids, or an id occurs twice
   */
  static Selection open(List<String> ids, MemoryOptions options) {
    if (ids.contains("")) {
      throw new WrongArguments(
          "'" + String.join(",", ids) + "' has an empty id; give ids with commas between");
    }
    if (new HashSet<>(ids).size() < ids.size()) {
      throw new WrongArguments(String.join(",", ids) + " names an accelerator twice");
    }
    Tidepool tidepool = Discovery.using(providers(ids), () -> everything(options));
    try {
      List<Accelerator> chosen = ids.stream().map(id -> choose(tidepool, id)).distinct().toList();
      return new Selection(tidepool, chosen, ids.equals(List.of(AUTO)));
    } catch (RuntimeException e) {
      tidepool.close();
      throw e;
    }
  }

  /**
   * Opens all accelerators.
   *
   * @throws WrongArguments if an option names a folder or file that cannot be used
   */
  static Tidepool everything(MemoryOptions options) {
    try {
      return Tidepool.open(options);
    } catch (IllegalArgumentException | TransferException e) {
      throw new WrongArguments(e);
    }
  }

  private static List<AcceleratorProvider> providers(List<String> ids) {
    if (ids.equals(List.of(CPU))) {
      return List.of();
    }
    List<AcceleratorProvider> installed =
        ServiceLoader.load(AcceleratorProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .toList();
    return ids.stream()
        .filter(id -> !id.equals(CPU))
        .flatMap(id -> needed(id, installed).stream())
        .distinct()
        .toList();
  }

  /** Returns the first selected accelerator. */
  Accelerator accelerator() {
    return accelerators.getFirst();
  }

  /** Returns the installed providers that may offer an id. */
  static List<AcceleratorProvider> needed(String id, List<AcceleratorProvider> installed) {
    if (id.equals(AUTO)) {
      return installed.stream().filter(provider -> !provider.offersOnlyTheCpu()).toList();
    }
    List<AcceleratorProvider> named =
        installed.stream().filter(provider -> id.startsWith(provider.name() + ":")).toList();
    return named.isEmpty() ? installed : named;
  }

  private static Accelerator choose(Tidepool tidepool, String id) {
    if (id.equals(AUTO)) {
      return tidepool.accelerator(AUTO);
    }
    return tidepool.accelerators().stream()
        .filter(accelerator -> accelerator.id().equals(id))
        .findFirst()
        .orElseThrow(() -> unknown(id));
  }

  private static WrongArguments unknown(String id) {
    try (Tidepool all = everything(MemoryOptions.defaults())) {
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
