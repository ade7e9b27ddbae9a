package dev.tidepool.testkit.cuda;

import dev.tidepool.testkit.compiled.LedgerFunctions;
import dev.tidepool.testkit.compiled.NativeBuild;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/**
 * The simulated CUDA driver, compiled for this machine, and how tests steer it.
 *
 * <p>A program under test loads {@link #driver()} as its {@code libcuda} and {@link #compiler()} as
 * its {@code libnvrtc}; loaded into this process, it is the same driver that the methods here
 * steer. Other processes are set up by the environment: {@code TIDEPOOL_SIM} holds {@code
 * name=value} pairs with blanks between, of {@code devices} and the settings of {@link #set}, with
 * {@code 2.} before a name for device 2 alone; {@code TIDEPOOL_SIM_REPORT} names a file to which
 * violations and leaks are appended when the process exits.
 *
 * <p>How it differs from a GPU: a device's memory is host memory; the host cannot reach it by a
 * device's address (touching one crashes), kernels get theirs moved, so they must take pointers as
 * arguments and not read them from memory. Kernels are CUDA C compiled by the host's compiler,
 * without warps' own functions, textures and libraries. Default streams are refused.
 *
 * <p>Safe for use by any thread, but for {@link #reset}.
 */
public final class SimulatedCuda {
  private static final NativeBuild.Outcome<CudaBuild.Libraries> BUILD = CudaBuild.once();

  private final Path driver;
  private final Path compiler;
  private final ControlFunctions control;
  private final LedgerFunctions ofDriver;
  private final LedgerFunctions ofCompiler;

  private SimulatedCuda(CudaBuild.Libraries libraries) {
    driver = libraries.driver();
    compiler = libraries.compiler();
    SymbolLookup library = SymbolLookup.libraryLookup(driver, Arena.global());
    control = new ControlFunctions(library);
    ofDriver = new LedgerFunctions(library);
    ofCompiler = new LedgerFunctions(SymbolLookup.libraryLookup(compiler, Arena.global()));
  }

  private static final class Loaded {
    static final Optional<SimulatedCuda> INSTANCE = BUILD.libraries().map(SimulatedCuda::new);
  }

  /**
   * Returns the driver, compiled at the first call; empty where it cannot be, see {@link
   * #whyAbsent}.
   */
  public static Optional<SimulatedCuda> find() {
    return Loaded.INSTANCE;
  }

  /** Returns the driver. If there is none, skips the calling test with the reason. */
  public static SimulatedCuda orSkip() {
    return find().orElseGet(() -> Assumptions.abort(whyAbsent()));
  }

  /** Why there is no simulated driver; empty where there is one. */
  public static String whyAbsent() {
    return BUILD.whyAbsent();
  }

  /** Returns the library that stands in for {@code libcuda.so.1}. */
  public Path driver() {
    return driver;
  }

  /** Returns the library that stands in for {@code libnvrtc.so}. */
  public Path compiler() {
    return compiler;
  }

  /**
   * Ends all that there is and starts again with that many devices of 1 GiB, all peers of each
   * other, compute capability 8.0; counts, failures and findings are forgotten. {@code cuInit} has
   * to be called again. No other thread may call the driver meanwhile.
   */
  public void reset(int devices) {
    ofCompiler.reset(devices);
    ofDriver.reset(devices);
  }

  /**
   * Changes a setting of one device:
   *
   * <ul>
   *   <li>{@code memory}: bytes
   *   <li>{@code largest_piece}: bytes that one call gets at most, as if no more lay in a row
   *   <li>{@code latency_ns}: what each command takes at least, in nanoseconds; 0 at first
   *   <li>{@code host_to_device}, {@code device_to_host}, {@code on_device}, {@code to_peer}: bytes
   *       a second that all streams together move so; 0, as at first, for as fast as the host
   *   <li>{@code compute_capability}: 80 for 8.0
   *   <li>{@code taken}: 1 when another process has it, in exclusive mode
   *   <li>{@code lost}: the code that every call answers from now on, and 0 for none
   *   <li>{@code attribute.N}: the device's attribute of that number
   * </ul>
   *
   * <p>and of the machine, for which the device is ignored: {@code driver_version} (13000), {@code
   * pinned_limit} (bytes of host memory that can be locked), and {@code recycles_streams} (1 gives
   * handles of streams that were destroyed to new ones, as drivers may; 0 at first).
   *
   * @throws IllegalArgumentException when there is no such device or setting
   */
  public void set(int device, String setting, long value) {
    if (!control.set(device, setting, value)) {
      throw new IllegalArgumentException(
          "the simulated driver has no device %s, or no setting %s".formatted(device, setting));
    }
  }

  /** Changes a setting of all devices. */
  public void setAll(String setting, long value) {
    set(-1, setting, value);
  }

  /** Whether one device can reach another's memory. */
  public void setPeer(int from, int to, boolean reachable) {
    control.peer(from, to, reachable);
  }

  /** Lets the nth call of a function from now on fail, 1 being the next. */
  public void fail(String function, long nth, int code) {
    fail(function, nth, code, 1);
  }

  /**
   * Lets calls of a function fail: from the nth from now on, so many times (less than 0 for ever).
   * The name is the exported one, such as {@code cuMemAlloc_v2} or {@code nvrtcCompileProgram};
   * {@code execute} stands for what streams carry out, and a failure there loses the device; {@code
   * batched_copy} for one copy of a batch, and those before it in the batch are carried out.
   */
  public void fail(String function, long nth, int code, long times) {
    ledgerOf(function).fail(function, nth, code, times);
  }

  /** Returns how often a function was called. */
  public long calls(String function) {
    return ledgerOf(function).calls(function);
  }

  private LedgerFunctions ledgerOf(String function) {
    return function.startsWith("nvrtc") ? ofCompiler : ofDriver;
  }

  /** Returns how often each function was called that was. */
  public Map<String, Long> calls() {
    Map<String, Long> calls = new TreeMap<>();
    for (String line : ofBoth("calls")) {
      int blank = line.indexOf(' ');
      calls.put(line.substring(0, blank), Long.valueOf(line.substring(blank + 1)));
    }
    return calls;
  }

  /** Returns what a real driver would have punished, the first 500 of it. */
  public List<String> violations() {
    return ofDriver.report("violations");
  }

  /** Returns what was legal but slow: copies from and to memory that is not pinned, and such. */
  public List<String> notes() {
    return ofDriver.report("notes");
  }

  /** Returns what is there now and has not been freed. */
  public List<String> leaks() {
    return ofBoth("leaks");
  }

  private List<String> ofBoth(String report) {
    return Stream.of(ofDriver, ofCompiler)
        .flatMap(ledger -> ledger.report(report).stream())
        .toList();
  }

  /** Forgets counts, failures that were asked for, violations and notes. */
  public void forget() {
    ofDriver.forget();
    ofCompiler.forget();
  }

  /**
   * Returns the version of the toolkit's {@code cuda.h} that the driver was compiled against, 13000
   * for 13.0; 0 where there was none.
   */
  int header() {
    return control.header();
  }
}
