package dev.tidepool.testkit;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryOptions;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedMemoryManager;
import java.util.Optional;

/**
 * Whether an accelerator of this machine can compile expressions: a backend may need a library of
 * the vendor's for that, which is not everywhere, and do all else without.
 */
public final class CompilerProbe {
  private CompilerProbe() {}

  /** Why the accelerator has no compiler here; empty if it has one, or one that fails. */
  public static Optional<String> whyNone(Accelerator accelerator) {
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(accelerator, MemoryOptions.defaults())) {
      memory
          .compile(KernelSource.elementwise("x = x + 1"))
          .execute(Arguments.of("x", new float[1]));
      return Optional.empty();
    } catch (UnsupportedOperationException none) {
      return Optional.of(String.valueOf(none.getMessage()));
    } catch (TidepoolException failed) {
      return Optional.empty();
    }
  }
}
