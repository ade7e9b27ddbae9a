package dev.tidepool.interop;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** C functions that release a structure at an address: those of this library and of others. */
final class ReleaseFunction {
  private static final FunctionDescriptor TYPE = FunctionDescriptor.ofVoid(ValueLayout.ADDRESS);

  private static final class Call {
    /** Not critical, because a function of this library calls back into Java. */
    static final MethodHandle HANDLE = Linker.nativeLinker().downcallHandle(TYPE);
  }

  private ReleaseFunction() {}

  /** Creates a function from a static method, which must throw nothing. Takes milliseconds. */
  static MemorySegment of(MethodHandles.Lookup lookup, Class<?> owner, String method) {
    try {
      MethodType type = MethodType.methodType(void.class, MemorySegment.class);
      return Linker.nativeLinker()
          .upcallStub(lookup.findStatic(owner, method, type), TYPE, Arena.global());
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Calls a function for a structure; does nothing if the function is null. */
  static void call(MemorySegment function, MemorySegment struct) {
    if (function.address() == 0) {
      return;
    }
    try {
      Call.HANDLE.invokeExact(function, struct);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Logs the failure of a release function. Throws nothing. */
  static void failed(String what, Throwable failure) {
    try {
      System.getLogger("dev.tidepool")
          .log(System.Logger.Level.WARNING, what + " could not be released", failure);
    } catch (Throwable e) {
      // Neither the heap nor the stack has room for a message.
      return;
    }
  }
}
