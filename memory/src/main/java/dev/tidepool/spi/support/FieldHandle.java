package dev.tidepool.spi.support;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Finds the handles of fields that several threads read and write. */
public final class FieldHandle {
  private FieldHandle() {}

  /**
   * Returns the handle of a field of the lookup's class. Keep it in a {@code static final} field,
   * which the compiler treats as a constant.
   */
  public static VarHandle of(MethodHandles.Lookup lookup, String name, Class<?> type) {
    try {
      return lookup.findVarHandle(lookup.lookupClass(), name, type);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
