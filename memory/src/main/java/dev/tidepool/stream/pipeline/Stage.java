package dev.tidepool.stream.pipeline;

import dev.tidepool.Kernel;
import java.util.Map;
import java.util.Set;

/**
 * A kernel of a pipeline, on one accelerator.
 *
 * @param arrays the names whose buffers it takes
 * @param scalars what it takes by value
 */
public record Stage(Kernel kernel, Set<String> arrays, Map<String, Object> scalars) {
  /** Copies what it is given. */
  public Stage {
    arrays = Set.copyOf(arrays);
    scalars = Map.copyOf(scalars);
  }
}
