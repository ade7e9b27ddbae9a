package dev.tidepool.metal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.spi.support.DriverCall;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.function.Supplier;

/** The functions of the Objective-C runtime, libobjc. */
final class ObjectiveC {
  private static final MethodHandle GET_CLASS =
      link("objc_getClass", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
  private static final MethodHandle REGISTER_NAME =
      link("sel_registerName", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
  private static final MethodHandle POOL_PUSH =
      link("objc_autoreleasePoolPush", FunctionDescriptor.of(JAVA_LONG));
  private static final MethodHandle POOL_POP =
      link("objc_autoreleasePoolPop", FunctionDescriptor.ofVoid(JAVA_LONG));

  private ObjectiveC() {}

  private static MethodHandle link(String function, FunctionDescriptor descriptor) {
    return MetalLibrary.INSTALLED.link(function, descriptor);
  }

  /** A class by its name; 0 if there is none. */
  static long getClass(String name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment text = arena.allocateFrom(name);
      return NativeCall.answer("objc_getClass", () -> (long) GET_CLASS.invokeExact(text));
    }
  }

  /** A selector by its name; 0 where there is no runtime. */
  static long selector(String name) {
    if (!MetalLibrary.INSTALLED.isPresent()) {
      return 0;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment text = arena.allocateFrom(name);
      return (long) REGISTER_NAME.invokeExact(text);
    } catch (Throwable thrown) {
      throw DriverCall.unexpected("sel_registerName", thrown);
    }
  }

  /** Runs an action; objects that messages autorelease in it are released behind it. */
  static <T> T pooled(Supplier<T> action) {
    long pool = NativeCall.answer("objc_autoreleasePoolPush", () -> (long) POOL_PUSH.invokeExact());
    try {
      return action.get();
    } finally {
      NativeCall.run(
          "objc_autoreleasePoolPop",
          () -> {
            POOL_POP.invokeExact(pool);
          });
    }
  }

  /** Like {@link #pooled(Supplier)}, without a result. */
  static void pooled(Runnable action) {
    var _ =
        pooled(
            () -> {
              action.run();
              return true;
            });
  }
}
