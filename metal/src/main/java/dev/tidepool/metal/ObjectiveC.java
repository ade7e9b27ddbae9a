package dev.tidepool.metal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.spi.support.DriverCall;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;

/** The functions of the Objective-C runtime, libobjc. */
final class ObjectiveC {
  private static final LinkedFunction GET_CLASS =
      LinkedFunction.of("objc_getClass", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
  private static final LinkedFunction REGISTER_NAME =
      LinkedFunction.of("sel_registerName", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
  private static final LinkedFunction POOL_PUSH =
      LinkedFunction.of("objc_autoreleasePoolPush", FunctionDescriptor.of(JAVA_LONG));
  private static final LinkedFunction POOL_POP =
      LinkedFunction.of("objc_autoreleasePoolPop", FunctionDescriptor.ofVoid(JAVA_LONG));

  private ObjectiveC() {}

  /** Returns a class by its name; 0 if there is none. */
  static long getClass(String name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment text = arena.allocateFrom(name);
      return NativeCall.answer("objc_getClass", () -> (long) GET_CLASS.handle().invokeExact(text));
    }
  }

  /** Returns a selector by its name; 0 if there is no runtime. */
  static long selector(String name) {
    if (!MetalLibrary.INSTALLED.isPresent()) {
      return 0;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment text = arena.allocateFrom(name);
      return (long) REGISTER_NAME.handle().invokeExact(text);
    } catch (Throwable thrown) {
      throw DriverCall.unexpected("sel_registerName", thrown);
    }
  }

  /** Runs an action; objects that messages autorelease in it are released after it. */
  static <T> T pooled(Supplier<T> action) {
    long pool =
        NativeCall.answer(
            "objc_autoreleasePoolPush", () -> (long) POOL_PUSH.handle().invokeExact());
    try {
      return action.get();
    } finally {
      NativeCall.run(
          "objc_autoreleasePoolPop",
          () -> {
            POOL_POP.handle().invokeExact(pool);
          });
    }
  }
}
