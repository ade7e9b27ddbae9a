package dev.tidepool.runtime.kernel;

import dev.tidepool.KernelSource;
import java.util.List;

/**
 * Sources by which managers know the kernels that they compiled of them for an orchestrator.
 * Compared by identity, and refers to no orchestrator: a manager may outlive the Tidepool of the
 * one that asked it.
 */
public final class RegisteredSources {
  private final List<KernelSource> alternatives;

  public RegisteredSources(List<KernelSource> alternatives) {
    this.alternatives = alternatives;
  }

  /** In the order in which they are tried. */
  public List<KernelSource> alternatives() {
    return alternatives;
  }
}
