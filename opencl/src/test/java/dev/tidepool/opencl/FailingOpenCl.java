package dev.tidepool.opencl;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.testkit.compiled.HostCompiler;
import dev.tidepool.testkit.compiled.LedgerFunctions;
import dev.tidepool.testkit.compiled.NativeBuild;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The system's OpenCL library, whose calls fail when a test says so. It takes the place of the
 * system's with the first use of this class. A process has one OpenCL, so tests that use this class
 * have a process of their own.
 */
final class FailingOpenCl {
  private static final NativeBuild.Outcome<Path> BUILD =
      NativeBuild.attempt("the failing OpenCL library", FailingOpenCl::built);

  private final LedgerFunctions functions;

  private FailingOpenCl(Path library) {
    System.setProperty("tidepool.opencl.library", library.toString());
    functions = new LedgerFunctions(SymbolLookup.libraryLookup(library, Arena.global()));
  }

  private static final class Loaded {
    static final FailingOpenCl INSTANCE =
        BUILD.libraries().map(FailingOpenCl::new).orElseGet(() -> abort(BUILD.whyAbsent()));
  }

  private static Path built(HostCompiler compiler) throws IOException {
    String library = "libfailing.so";
    return new NativeBuild("failing-opencl", compiler)
        .with(FailingOpenCl.class, List.of("failing_opencl.cc"))
        .run(
            List.of(),
            (folder, _) ->
                compiler.run(
                    folder,
                    List.of("-shared", "-Wl,--no-as-needed"),
                    "failing_opencl.cc",
                    "ledger.cc",
                    "ledger_control.cc",
                    "-l:libOpenCL.so.1",
                    "-ldl",
                    "-o",
                    library))
        .resolve(library);
  }

  /**
   * The library, of which no call fails. Skips the test where it cannot be built, and fails it
   * where CI promised that it can.
   */
  static FailingOpenCl orSkip() {
    assertTrue(
        BUILD.libraries().isPresent() || !"true".equals(System.getenv("CI")), BUILD::whyAbsent);
    FailingOpenCl library = Loaded.INSTANCE;
    assumeTrue(OpenCL.LIBRARY.has("tidepool_sim_fail"), "another test has loaded the system's");
    library.functions.forget();
    return library;
  }

  /** Lets the nth call of a function from now on fail, 1 being the next. */
  void fail(String function, long nth, int code) {
    fail(function, nth, code, 1);
  }

  /** Lets so many calls of a function fail, from the nth on (less than 0 for ever). */
  void fail(String function, long nth, int code, long times) {
    functions.fail(function, nth, code, times);
  }

  /** How often a function was called. */
  long calls(String function) {
    return functions.calls(function);
  }

  /** How often each function was called. */
  Map<String, Long> calls() {
    Map<String, Long> calls = new TreeMap<>();
    for (String line : functions.report("calls")) {
      String[] parts = line.split(" ");
      calls.put(parts[0], Long.valueOf(parts[1]));
    }
    return calls;
  }
}
