package dev.tidepool.cli;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The arguments of {@code tidepool eval} as unchecked texts.
 *
 * @param expression the assignments
 * @param bindings texts of the form {@code name=value}
 * @param device the id of an accelerator, several ids separated by commas, or {@code auto}
 * @param chunk the bytes of one chunk, or null if the pipeline chooses
 * @param memoryLimit the bytes that all chunks in flight may use together
 * @param dtype NumPy's name of the outputs' type, or null for the natural one
 * @param axis the axis of the reductions, or null if each yields one value
 * @param where a condition that selects elements, or null for all
 * @param deterministic whether the result must not depend on the accelerator
 * @param resume whether to continue an earlier run, and to keep the work of an interrupted one
 * @param force whether existing outputs are replaced
 * @param debug whether failures are printed with stack traces
 */
record EvalRequest(
    String expression,
    List<String> bindings,
    String device,
    @Nullable String chunk,
    String memoryLimit,
    @Nullable String dtype,
    @Nullable String axis,
    @Nullable String where,
    boolean deterministic,
    boolean resume,
    boolean force,
    boolean debug) {

  static final String DEFAULT_MEMORY_LIMIT = "1GiB";

  private static final Set<String> WITH_VALUE =
      Set.of("--device", "--chunk", "--memory-limit", "--dtype", "--axis", "--where");
  private static final Set<String> WITHOUT_VALUE =
      Set.of("--deterministic", "--resume", "--force", "--debug");

  EvalRequest {
    bindings = List.copyOf(bindings);
  }

  /**
   * Reads a well-formed command line, without the word {@code eval}. This takes microseconds, while
   * loading the option parser takes 150 ms. Returns empty for any other command line, such as help,
   * unknown or repeated options. The option parser then reports the error.
   */
  static Optional<EvalRequest> read(List<String> arguments) {
    List<String> positional = new ArrayList<>();
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i < arguments.size(); i++) {
      String argument = arguments.get(i);
      if (!argument.startsWith("-")) {
        positional.add(argument);
        continue;
      }
      int equals = argument.indexOf('=');
      String name = equals < 0 ? argument : argument.substring(0, equals);
      String value;
      if (WITHOUT_VALUE.contains(name) && equals < 0) {
        value = "";
      } else if (WITH_VALUE.contains(name) && equals >= 0) {
        value = argument.substring(equals + 1);
      } else if (WITH_VALUE.contains(name) && i + 1 < arguments.size()) {
        value = arguments.get(++i);
      } else {
        return Optional.empty();
      }
      boolean isOption = equals < 0 && value.startsWith("-") && !isCondition(value);
      boolean odd = WITH_VALUE.contains(name) && (value.isEmpty() || isOption);
      if (odd || options.put(name, value) != null) {
        return Optional.empty();
      }
    }
    if (positional.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        new EvalRequest(
            positional.getFirst(),
            positional.subList(1, positional.size()),
            options.getOrDefault("--device", Selection.AUTO),
            options.get("--chunk"),
            options.getOrDefault("--memory-limit", DEFAULT_MEMORY_LIMIT),
            options.get("--dtype"),
            options.get("--axis"),
            options.get("--where"),
            options.containsKey("--deterministic"),
            options.containsKey("--resume"),
            options.containsKey("--force"),
            options.containsKey("--debug")));
  }

  /** Returns whether an argument that begins with a hyphen is a condition like {@code -h > 0}. */
  private static boolean isCondition(String value) {
    return value.chars().anyMatch(c -> " <>!&|".indexOf(c) >= 0) || value.contains("==");
  }
}
