package dev.tidepool.cli;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What {@code tidepool eval} was asked for, as texts that have not been checked.
 *
 * @param expression the assignments
 * @param bindings {@code name=value} each
 * @param device an accelerator's id, several with commas between, or {@code auto}
 * @param chunk bytes of one chunk, or null where the pipeline chooses
 * @param memoryLimit bytes that chunks in flight may hold together
 * @param dtype NumPy's name of the outputs' type, or null for the natural one
 * @param axis the axis along which reductions go, or null where they make one value each
 * @param where a condition that selects elements, or null where all count
 * @param deterministic whether the result must not depend on the accelerator
 * @param resume whether it goes on where an earlier run ended, and leaves something to go on from
 * @param force whether outputs that exist are replaced
 * @param debug whether a failure shows where it came from
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

  static final String DEFAULT_DEVICE = "auto";
  static final String DEFAULT_MEMORY_LIMIT = "1GiB";

  private static final Set<String> WITH_VALUE =
      Set.of("--device", "--chunk", "--memory-limit", "--dtype", "--axis", "--where");
  private static final Set<String> WITHOUT_VALUE =
      Set.of("--deterministic", "--resume", "--force", "--debug");

  /** Copies the list. */
  EvalRequest {
    bindings = List.copyOf(bindings);
  }

  /**
   * Reads a well-formed command line, without {@code eval} itself, in microseconds where the option
   * parser takes 150 ms to load. Answers empty for anything else, such as help, unknown or repeated
   * options: the option parser then says what is wrong.
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
            options.getOrDefault("--device", DEFAULT_DEVICE),
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

  /** Returns whether an argument that begins as an option does is {@code -h > 0} or such. */
  private static boolean isCondition(String value) {
    return value.chars().anyMatch(c -> " <>!&|".indexOf(c) >= 0) || value.contains("==");
  }
}
