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
 * The simulated CUDA driver, compiled for this machine, and the methods by which tests control it.
 *
 * <p>A program under test loads {@link #driver()} as its {@code libcuda} and {@link #compiler()} as
 * its {@code libnvrtc}. If this process loads them, the methods here control the same driver.
 * Environment variables configure other processes. {@code TIDEPOOL_SIM} contains {@code name=value}
 * pairs separated by blanks: {@code devices} and the settings of {@link #set}, with {@code 2.}
 * before a name for device 2 alone. {@code TIDEPOOL_SIM_REPORT} names a file to which violations
 * and leaks are appended when the process exits.
 *
 * <p>Differences to a GPU: a device's memory is host memory. The host cannot access it by a device
 * address (an access crashes). Kernels receive translated addresses, so they must take pointers as
 * arguments and not read them from memory. Kernels are CUDA C compiled by the host's compiler,
 * without warp functions, textures and libraries. Default streams are refused.
 *
 * <p>Safe for use by any thread, except for {@link #reset}.
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
   * Returns the driver, compiled at the first call; empty if that is impossible, see {@link
   * #whyAbsent}.
   */
  public static Optional<SimulatedCuda> find() {
    return Loaded.INSTANCE;
  }

  /** Returns the driver. If there is none, skips the calling test with the reason. */
  public static SimulatedCuda orSkip() {
    return find().orElseGet(() -> Assumptions.abort(whyAbsent()));
  }

  /** Returns why there is no simulated driver; empty if there is one. */
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
   * Destroys all objects and starts again with a number of devices of 1 GiB, all peers of each
   * other, with compute capability 8.0. Counts, failures and findings are cleared. {@code cuInit}
   * must be called again. No other thread may call the driver meanwhile.
   */
  public void reset(int devices) {
    ofCompiler.reset(devices);
    ofDriver.reset(devices);
  }

  /**
   * Changes a setting of one device:
   *
   * <ul>
   *   <li>{@code memory}: the size in bytes
   *   <li>{@code largest_piece}: the most bytes that one call allocates, as if memory were
   *       fragmented
   *   <li>{@code latency_ns}: the least time of each command in nanoseconds; by default 0
   *   <li>{@code host_to_device}, {@code device_to_host}, {@code on_device}, {@code to_peer}: the
   *       bytes per second of all streams together; 0, the default, for the host's speed
   *   <li>{@code compute_capability}: 80 for 8.0
   *   <li>{@code taken}: 1 if another process uses it in exclusive mode
   *   <li>{@code lost}: the error code of every call from now on, 0 for none
   *   <li>{@code attribute.N}: the device's attribute with that number
   * </ul>
   *
   * <p>Settings of the machine, for which the device is ignored: {@code driver_version} (13000),
   * {@code pinned_limit} (the bytes of host memory that can be locked), and {@code
   * recycles_streams} (1 reuses the handles of destroyed streams, as drivers may; by default 0).
   *
   * @throws IllegalArgumentException if there is no such device or setting
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

  /** Sets whether one device can access another's memory. */
  public void setPeer(int from, int to, boolean reachable) {
    control.peer(from, to, reachable);
  }

  /** Makes the nth call of a function from now fail; 1 is the next. */
  public void fail(String function, long nth, int code) {
    fail(function, nth, code, 1);
  }

  /**
   * Makes calls of a function fail. The name is the exported one, such as {@code cuMemAlloc_v2} or
   * {@code nvrtcCompileProgram}. {@code execute} stands for the execution of commands in streams,
   * where a failure loses the device. {@code batched_copy} stands for one copy of a batch; the
   * copies before it in the batch are executed.
   *
   * @param nth the first call that fails, counted from now
   * @param times the number of failing calls; negative for all
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

  /** Returns the number of calls of each function that was called. */
  public Map<String, Long> calls() {
    Map<String, Long> calls = new TreeMap<>();
    for (String line : ofBoth("calls")) {
      int blank = line.indexOf(' ');
      calls.put(line.substring(0, blank), Long.valueOf(line.substring(blank + 1)));
    }
    return calls;
  }

  /** Returns what a real driver would have punished, at most 500 entries. */
  public List<String> violations() {
    return ofDriver.report("violations");
  }

  /** Returns legal but slow operations, such as copies of memory that is not pinned. */
  public List<String> notes() {
    return ofDriver.report("notes");
  }

  /** Returns the objects that have not been freed. */
  public List<String> leaks() {
    return ofBoth("leaks");
  }

  private List<String> ofBoth(String report) {
    return Stream.of(ofDriver, ofCompiler)
        .flatMap(ledger -> ledger.report(report).stream())
        .toList();
  }

  /** Clears counts, requested failures, violations and notes. */
  public void forget() {
    ofDriver.forget();
    ofCompiler.forget();
  }

  /**
   * Returns the version of the toolkit's {@code cuda.h} that the driver was compiled against, 13000
   * for 13.0; 0 if there was none.
   */
  int header() {
    return control.header();
  }
}
