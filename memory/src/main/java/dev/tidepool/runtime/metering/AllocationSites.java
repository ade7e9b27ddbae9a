package dev.tidepool.runtime.metering;

import dev.tidepool.Reservation;
import dev.tidepool.UnifiedMemoryManager;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The stacks of the user's program that request allocations, each kept once. Thread-safe.
 *
 * <p>Frames are compared by their position in the bytecode. The readable text (files and lines) is
 * made only when a stack is first seen.
 */
public final class AllocationSites {
  // Descriptors distinguish overloads. The walker has descriptors only if it retains classes.
  private static final StackWalker WALKER =
      StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
  private static final int MOST_FRAMES = 16;

  /** Further stacks are reported but not kept: programs may create any number of classes. */
  private static final int MOST_STACKS = 10_000;

  private record Frame(String type, String method, String descriptor, int bytecode) {
    Frame(StackWalker.StackFrame frame) {
      this(
          frame.getClassName(),
          frame.getMethodName(),
          frame.getDescriptor(),
          frame.getByteCodeIndex());
    }

    // Written by hand, like equals: linking a record's methods takes milliseconds in every process.
    @Override
    public int hashCode() {
      return 31 * (31 * type.hashCode() + method.hashCode()) + bytecode;
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Frame frame
          && bytecode == frame.bytecode
          && method.equals(frame.method)
          && type.equals(frame.type)
          && descriptor.equals(frame.descriptor);
    }
  }

  private final Map<List<Frame>, String> known = new ConcurrentHashMap<>();

  /**
   * Returns the caller's stack, from the first frame outside this library. It has one line for each
   * frame, such as {@code App.load(App.java:12)}. If all frames are the library's, returns these.
   * Equal stacks are the same object, except beyond a maximum.
   */
  public String here() {
    List<StackWalker.StackFrame> stack = WALKER.walk(AllocationSites::ofUser);
    return named(stack.isEmpty() ? WALKER.walk(AllocationSites::ofAll) : stack);
  }

  private static List<StackWalker.StackFrame> ofUser(Stream<StackWalker.StackFrame> frames) {
    return ofAll(frames.dropWhile(frame -> isOfManagers(frame) || isBetween(frame)));
  }

  private static List<StackWalker.StackFrame> ofAll(Stream<StackWalker.StackFrame> frames) {
    return frames.dropWhile(AllocationSites::isOfManagers).limit(MOST_FRAMES).toList();
  }

  /** Returns true for frames of the manager and of default methods of its interfaces. */
  private static boolean isOfManagers(StackWalker.StackFrame frame) {
    return frame.getClassName().startsWith("dev.tidepool.runtime.")
        || frame.getClassName().equals(UnifiedMemoryManager.class.getName())
        || frame.getClassName().equals(Reservation.class.getName());
  }

  /** Returns true for frames that may be between the manager and the program. */
  private static boolean isBetween(StackWalker.StackFrame frame) {
    return frame.getClassName().startsWith("dev.tidepool.stream.")
        || frame.getClassName().startsWith("java.");
  }

  private String named(List<StackWalker.StackFrame> stack) {
    List<Frame> key = stack.stream().map(Frame::new).toList();
    String site = known.get(key);
    if (site == null) {
      site = stack.stream().map(AllocationSites::line).collect(Collectors.joining("\n"));
      String first = known.size() < MOST_STACKS ? known.putIfAbsent(key, site) : null;
      return first == null ? site : first;
    }
    return site;
  }

  private static String line(StackWalker.StackFrame frame) {
    String file = frame.getFileName();
    String line = frame.getLineNumber() < 0 ? "" : ":" + frame.getLineNumber();
    return frame.getClassName()
        + "."
        + frame.getMethodName()
        + "("
        + (file == null ? "unknown source" : file + line)
        + ")";
  }
}
