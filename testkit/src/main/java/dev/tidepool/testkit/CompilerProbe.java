package dev.tidepool.testkit;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryOptions;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedMemoryManager;
import java.util.Optional;

/**
 * Tests whether an accelerator of this machine can compile expressions. A backend may need a
 * vendor's library to compile, and do everything else without it.
 */
public final class CompilerProbe {
  private CompilerProbe() {}

  /** Returns why the accelerator has no compiler here; empty if it has one, even one that fails. */
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
