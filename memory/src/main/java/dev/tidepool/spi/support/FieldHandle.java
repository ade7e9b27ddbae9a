package dev.tidepool.spi.support;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Finds the handles of fields that threads exchange. */
public final class FieldHandle {
  private FieldHandle() {}

  /**
   * Returns the handle of a field of the lookup's class. The compiler reads it as a constant if it
   * is {@code static final}.
   */
  public static VarHandle of(MethodHandles.Lookup lookup, String name, Class<?> type) {
    try {
      return lookup.findVarHandle(lookup.lookupClass(), name, type);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
