package dev.tidepool.cpu;

import org.jspecify.annotations.Nullable;

/**
 * Tells the code of a kernel's body to which launch it belongs. The launching thread opens the
 * scope; threads that help with the launch run in the same scope.
 */
public final class LaunchScope {
  private static final ScopedValue<Object> OWNER = ScopedValue.newInstance();

  private LaunchScope() {}

  /** Runs a launch, or a part of it, for an owner. */
  public static void run(Object owner, Runnable launch) {
    ScopedValue.where(OWNER, owner).run(launch);
  }

  /** Returns the owner of the launch that the calling thread runs, or null outside a launch. */
  public static @Nullable Object owner() {
    return OWNER.isBound() ? OWNER.get() : null;
  }
}
