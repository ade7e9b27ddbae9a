package dev.tidepool.runtime;

/** Where in the user's program an allocation was asked for. */
final class Sites {
  private static final StackWalker WALKER = StackWalker.getInstance();

  private Sites() {}

  /** The first frame outside this library's managers, such as {@code App.load(App.java:12)}. */
  static String caller() {
    return WALKER.walk(
        frames ->
            frames
                .filter(frame -> !frame.getClassName().startsWith("dev.tidepool.runtime."))
                .filter(frame -> !frame.getClassName().startsWith("java."))
                .findFirst()
                .map(frame -> frame.toStackTraceElement().toString())
                .orElse("unknown"));
  }
}
