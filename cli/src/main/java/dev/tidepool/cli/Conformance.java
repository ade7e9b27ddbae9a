package dev.tidepool.cli;

import dev.tidepool.spi.support.FailureText;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs the conformance suite and prints a line for each of its topics, followed by the tests that
 * failed. The engine calls the listener from the thread that calls {@link #run}.
 */
final class Conformance implements TestExecutionListener {
  private static final int LABEL = 30;
  private static final int TOPIC_DEPTH = 2;
  private static final int LONGEST_MESSAGE = 200;

  private final PrintStream out;
  private final boolean debug;
  private final List<String> failures = new ArrayList<>();
  private @Nullable TestPlan plan;
  private long passed;
  private long failed;
  private long skipped;
  private long passedBefore;
  private long skippedBefore;

  private Conformance(PrintStream out, boolean debug) {
    this.out = out;
    this.debug = debug;
  }

  /**
   * Runs the suite over an accelerator and returns whether all tests passed.
   *
   * @param debug whether failures are printed with their stack traces
   */
  static boolean run(String accelerator, PrintStream out, boolean debug) {
    MachineConformance.choose(accelerator);
    LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(DiscoverySelectors.selectClass(MachineConformance.class))
            .build();
    Conformance conformance = new Conformance(out, debug);
    long start = System.nanoTime();
    quietly(
        () -> {
          LauncherFactory.create().execute(request, conformance);
          return true;
        });
    return conformance.finish(System.nanoTime() - start);
  }

  /** Runs tests without the library's warnings, which the tests cause on purpose. */
  static boolean quietly(BooleanSupplier tests) {
    Logger warnings = Logger.getLogger("dev.tidepool"); // the reference keeps the level
    Level before = warnings.getLevel();
    warnings.setLevel(Level.OFF);
    try {
      return tests.getAsBoolean();
    } finally {
      warnings.setLevel(before);
    }
  }

  private boolean finish(long nanos) {
    print("");
    out.println(
        "  %s passed, %s failed, %s skipped in %s"
            .formatted(
                Figures.count(passed),
                Figures.count(failed),
                Figures.count(skipped),
                Figures.time(nanos)));
    if (passed == 0) {
      throw new IllegalStateException("the conformance suite was not found");
    }
    return failed == 0;
  }

  @Override
  public void testPlanExecutionStarted(TestPlan started) {
    plan = started;
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    Optional<Throwable> thrown = result.getThrowable();
    switch (result.getStatus()) {
      case SUCCESSFUL -> passed += test.isTest() ? 1 : 0;
      case ABORTED -> skipped++;
      case FAILED -> {
        failed++;
        failures.add(path(test) + ": " + thrown.map(this::text).orElse("no reason told"));
      }
    }
    if (test.isContainer() && depth(test) == TOPIC_DEPTH) {
      print(words(test.getDisplayName()));
    }
  }

  @Override
  public void executionSkipped(TestIdentifier test, String reason) {
    skipped++;
  }

  /** Prints the tests since the last line as one topic. */
  private void print(String topic) {
    if (!topic.isEmpty()) {
      String label = "    " + topic;
      long now = passed - passedBefore;
      long left = skipped - skippedBefore;
      out.println(
          label
              + " ".repeat(Math.max(1, LABEL - label.length()))
              + Figures.count(now)
              + " passed"
              + (left == 0 ? "" : ", " + Figures.count(left) + " skipped"));
    }
    passedBefore = passed;
    skippedBefore = skipped;
    failures.forEach(failure -> out.println("      FAILED " + failure));
    failures.clear();
  }

  /** Returns a class name such as {@code BufferCopy} as words: {@code buffer copy}. */
  private static String words(String className) {
    return className.replaceAll("(?<=[a-z])(?=[A-Z])", " ").toLowerCase(Locale.ROOT);
  }

  private String text(Throwable thrown) {
    if (debug) {
      StringWriter trace = new StringWriter();
      thrown.printStackTrace(new PrintWriter(trace));
      return trace.toString();
    }
    String message = FailureText.of(thrown).strip().replaceAll("\\s+", " ");
    return message.length() <= LONGEST_MESSAGE
        ? message
        : message.substring(0, LONGEST_MESSAGE) + "... (--debug shows all)";
  }

  /** Returns the names of a test and of its containers below the topic. */
  private String path(TestIdentifier test) {
    return depth(test) <= TOPIC_DEPTH + 1
        ? test.getDisplayName()
        : parent(test).map(above -> path(above) + ", ").orElse("") + test.getDisplayName();
  }

  /** Returns 0 for the engine, 1 for the suite, 2 for its topics. */
  private int depth(TestIdentifier test) {
    return parent(test).map(above -> 1 + depth(above)).orElse(0);
  }

  private Optional<TestIdentifier> parent(TestIdentifier test) {
    return plan == null ? Optional.empty() : plan.getParent(test);
  }
}
