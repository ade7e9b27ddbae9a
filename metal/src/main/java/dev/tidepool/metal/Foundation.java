package dev.tidepool.metal;

import static java.lang.foreign.MemoryLayout.structLayout;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.LongStream;

/** The messages of Apple's Foundation that are used: objects, texts, lists, errors, the system. */
final class Foundation {
  private static final MemoryLayout VERSION = structLayout(JAVA_LONG, JAVA_LONG, JAVA_LONG);

  private static final Signature OBJECT = Signature.of(JAVA_LONG);
  private static final Signature NOTHING = Signature.ofVoid();

  private static final Message RETAIN = Message.of("NSObject", "retain", OBJECT);
  private static final Message RELEASE = Message.of("NSObject", "release", NOTHING);
  private static final Message RESPONDS_TO =
      Message.of("NSObject", "respondsToSelector:", Signature.of(JAVA_BYTE, JAVA_LONG));
  private static final Message STRING_WITH_UTF8 =
      Message.of("+NSString", "stringWithUTF8String:", Signature.of(JAVA_LONG, ADDRESS));
  private static final Message UTF8 = Message.of("NSString", "UTF8String", Signature.of(ADDRESS));
  private static final Message COUNT = Message.of("NSArray", "count", OBJECT);
  private static final Message OBJECT_AT =
      Message.of("NSArray", "objectAtIndex:", Signature.of(JAVA_LONG, JAVA_LONG));
  private static final Message CODE = Message.of("NSError", "code", OBJECT);
  private static final Message DOMAIN = Message.of("NSError", "domain", OBJECT);
  private static final Message DESCRIPTION = Message.of("NSError", "localizedDescription", OBJECT);
  private static final Message PROCESS_INFO = Message.of("+NSProcessInfo", "processInfo", OBJECT);
  private static final Message IS_AT_LEAST =
      Message.of(
          "NSProcessInfo", "isOperatingSystemAtLeastVersion:", Signature.of(JAVA_BYTE, VERSION));
  private static final Message VERSION_TEXT =
      Message.of("NSProcessInfo", "operatingSystemVersionString", OBJECT);

  private Foundation() {}

  /** An error of Foundation. */
  record Failure(String domain, long code, String description) {}

  static void retain(long object) {
    var _ =
        NativeCall.answer(
            "retain", () -> (long) RETAIN.handle().invokeExact(object, RETAIN.selector()));
  }

  static void release(long object) {
    NativeCall.run(
        "release",
        () -> {
          RELEASE.handle().invokeExact(object, RELEASE.selector());
        });
  }

  static boolean respondsTo(long object, Message message) {
    return NativeCall.truth(
        "respondsToSelector:",
        () ->
            (byte)
                RESPONDS_TO
                    .handle()
                    .invokeExact(object, RESPONDS_TO.selector(), message.selector()));
  }

  /** Returns an autoreleased text. */
  static long string(String text) {
    long type = ObjectiveC.getClass("NSString");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocateFrom(text);
      return NativeCall.answer(
          "stringWithUTF8String:",
          () ->
              (long)
                  STRING_WITH_UTF8.handle().invokeExact(type, STRING_WITH_UTF8.selector(), bytes));
    }
  }

  /** Returns the characters of a text; an empty string if there is no text. */
  static String text(long string) {
    if (string == 0) {
      return "";
    }
    MemorySegment[] bytes = new MemorySegment[1];
    NativeCall.run(
        "UTF8String",
        () -> bytes[0] = (MemorySegment) UTF8.handle().invokeExact(string, UTF8.selector()));
    return bytes[0].address() == 0 ? "" : bytes[0].reinterpret(Long.MAX_VALUE).getString(0);
  }

  /** Returns the objects of a list, which keeps them. */
  static List<Long> elements(long array) {
    if (array == 0) {
      return List.of();
    }
    long count =
        NativeCall.answer(
            "count", () -> (long) COUNT.handle().invokeExact(array, COUNT.selector()));
    return LongStream.range(0, count)
        .map(
            i ->
                NativeCall.answer(
                    "objectAtIndex:",
                    () -> (long) OBJECT_AT.handle().invokeExact(array, OBJECT_AT.selector(), i)))
        .boxed()
        .toList();
  }

  /** Returns the content of an error; a placeholder if there is no error. */
  static Failure failure(long error) {
    if (error == 0) {
      return new Failure("none", 0, "Metal says no more");
    }
    long code =
        NativeCall.answer("code", () -> (long) CODE.handle().invokeExact(error, CODE.selector()));
    long domain =
        NativeCall.answer(
            "domain", () -> (long) DOMAIN.handle().invokeExact(error, DOMAIN.selector()));
    long description =
        NativeCall.answer(
            "localizedDescription",
            () -> (long) DESCRIPTION.handle().invokeExact(error, DESCRIPTION.selector()));
    return new Failure(text(domain), code, text(description).strip());
  }

  /** Returns whether the operating system has a version, or a newer one. */
  static boolean isSystemAtLeast(long major, long minor) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment version = arena.allocateFrom(JAVA_LONG, major, minor, 0);
      long info = processInfo();
      return NativeCall.truth(
          "isOperatingSystemAtLeastVersion:",
          () -> (byte) IS_AT_LEAST.handle().invokeExact(info, IS_AT_LEAST.selector(), version));
    }
  }

  /** Returns the version of the operating system in words. */
  static String systemVersion() {
    long info = processInfo();
    return text(
        NativeCall.answer(
            "operatingSystemVersionString",
            () -> (long) VERSION_TEXT.handle().invokeExact(info, VERSION_TEXT.selector())));
  }

  private static long processInfo() {
    long type = ObjectiveC.getClass("NSProcessInfo");
    return NativeCall.answer(
        "processInfo",
        () -> (long) PROCESS_INFO.handle().invokeExact(type, PROCESS_INFO.selector()));
  }
}
