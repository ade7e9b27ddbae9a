package dev.tidepool.runtime.kernel;

import dev.tidepool.KernelSource;
import java.util.List;

/**
 * The sources of an orchestrator's kernel, and the key under which managers keep the kernel that
 * they compiled. Compared by identity. Has no reference to the orchestrator, because a manager may
 * outlive the orchestrator's Tidepool.
 */
public final class RegisteredSources {
  private final List<KernelSource> alternatives;

  public RegisteredSources(List<KernelSource> alternatives) {
    this.alternatives = alternatives;
  }

  /** Returns the sources in the order in which they are tried. */
  public List<KernelSource> alternatives() {
    return alternatives;
  }
}
