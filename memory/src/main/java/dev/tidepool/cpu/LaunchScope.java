package dev.tidepool.cpu;

import org.jspecify.annotations.Nullable;

/**
 * Tells the code of a kernel's body which launch it belongs to. The launching thread opens the
 * scope, and the threads that help with the launch run in the same one.
 */
public final class LaunchScope {
  private static final ScopedValue<Object> OWNER = ScopedValue.newInstance();

  private LaunchScope() {}

  /** Runs a launch, or a part of one, for an owner. */
  public static void run(Object owner, Runnable launch) {
    ScopedValue.where(OWNER, owner).run(launch);
  }

  /** Returns the owner of the launch that the calling thread computes; null outside of one. */
  public static @Nullable Object owner() {
    return OWNER.isBound() ? OWNER.get() : null;
  }
}
