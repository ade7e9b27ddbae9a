package dev.tidepool.testkit.metal;

import dev.tidepool.testkit.compiled.LedgerFunctions;
import dev.tidepool.testkit.compiled.NativeBuild;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Assumptions;

/**
 * The simulated Metal, compiled for this machine, and the methods by which tests control it.
 *
 * <p>A program under test finds all functions in {@link #library()}: those of the Objective-C
 * runtime and of Metal. If this process loads it, the methods here control the same Metal.
 * Environment variables configure other processes. {@code TIDEPOOL_METAL_SIM} contains {@code
 * name=value} pairs separated by blanks: {@code devices} and the settings of {@link #set}, with
 * {@code 2.} before a name for device 2 alone. {@code TIDEPOOL_METAL_SIM_REPORT} names a file to
 * which violations and leaks are appended when the process exits.
 *
 * <p>Differences to a Mac:
 *
 * <ul>
 *   <li>Objects are numbers, and no number is used twice. A message to a released object, an
 *       unknown message, and any other misuse is a violation and returns 0.
 *   <li>The program must not use an object that it no longer owns, although Metal may still keep
 *       the object alive.
 *   <li>The host cannot access private memory. On a device without unified memory, managed memory
 *       has two copies.
 *   <li>Kernels are compiled by the host's compiler: no textures, no functions of SIMD groups, no
 *       swizzles. Code outside of the language is refused: {@code goto}, {@code double}, pointers
 *       without an address space. Fast math and contraction are on until a program switches them
 *       off, subnormal numbers are flushed, and functions have the largest errors that the language
 *       permits.
 *   <li>The commands of one queue run one after another.
 *   <li>Blocks are not called.
 * </ul>
 *
 * <p>Safe for use by any thread, except for {@link #reset}.
 */
public final class SimulatedMetal {
  private static final NativeBuild.Outcome<Path> BUILD = MetalBuild.once();

  private final Path library;
  private final ControlFunctions control;
  private final LedgerFunctions ledger;

  private SimulatedMetal(Path library) {
    this.library = library;
    SymbolLookup symbols = SymbolLookup.libraryLookup(library, Arena.global());
    control = new ControlFunctions(symbols);
    ledger = new LedgerFunctions(symbols);
  }

  private static final class Loaded {
    static final Optional<SimulatedMetal> INSTANCE = BUILD.libraries().map(SimulatedMetal::new);
  }

  private static final class Table {
    static final MethodTable INSTANCE = new MethodTable();
    static final ConstantTable CONSTANTS = new ConstantTable();
  }

  /** Returns the simulated Metal, compiled at the first call; empty if that is impossible. */
  public static Optional<SimulatedMetal> find() {
    return Loaded.INSTANCE;
  }

  /** Returns the simulated Metal. If there is none, skips the calling test with the reason. */
  public static SimulatedMetal orSkip() {
    return find().orElseGet(() -> Assumptions.abort(whyAbsent()));
  }

  /** Returns why there is no simulated Metal; empty if there is one. */
  public static String whyAbsent() {
    return BUILD.whyAbsent();
  }

  /**
   * Compares declarations of methods with Apple's documentation. Works without the simulated Metal.
   *
   * @return a line for each method that is unknown or has another signature
   */
  public static List<String> checkSignatures(List<MetalMethod> declared) {
    return declared.stream().flatMap(method -> Table.INSTANCE.complaint(method).stream()).toList();
  }

  /**
   * Compares a declaration of a C function with Apple's documentation. Works without the simulated
   * Metal.
   *
   * @return the error; empty if there is none
   */
  public static Optional<String> checkFunction(String name, FunctionDescriptor descriptor) {
    return Table.INSTANCE.complaint(name, descriptor);
  }

  /**
   * Returns the value that Apple documents for a constant, such as {@code
   * MTLCommandBufferStatusError}. Works without the simulated Metal.
   *
   * @throws IllegalArgumentException if the table does not contain the constant
   */
  public static long constant(String name) {
    return Table.CONSTANTS
        .value(name)
        .orElseThrow(() -> new IllegalArgumentException("the table of constants has no " + name));
  }

  /** Returns the library that stands in for the Objective-C runtime, Foundation and Metal. */
  public Path library() {
    return library;
  }

  /**
   * Destroys all objects and starts again with a number of devices of 1 GiB that share the host's
   * memory. Counts, failures and findings are cleared. No other thread may send messages meanwhile.
   */
  public void reset(int devices) {
    ledger.reset(devices);
  }

  /**
   * Changes a setting of one device:
   *
   * <ul>
   *   <li>{@code memory}: the bytes that can be allocated
   *   <li>{@code working_set}: the recommended maximum; 0, the default, for three quarters of the
   *       memory
   *   <li>{@code max_buffer}: the greatest length of a buffer; 0, the default, for half the memory
   *   <li>{@code unified}: 1, the default, for a device that shares the host's memory; 0 also
   *       changes the family to Mac2
   *   <li>{@code family}: the newest of Apple's families to which it belongs, by default 1007
   *   <li>{@code low_power}, {@code removable}: by default 0
   *   <li>{@code threads_per_group}: by default 1024
   *   <li>{@code group_memory}: the bytes of threadgroup memory, by default 32 KiB
   *   <li>{@code resources}: the greatest number, by default 499000
   *   <li>{@code subnormals}: 1 if kernels keep subnormal numbers, by default 0
   *   <li>{@code latency_ns}: the least time of each command buffer in nanoseconds, by default 0
   *   <li>{@code bandwidth}: the bytes per second of all blits together; 0, the default, for the
   *       host's speed
   *   <li>{@code lost}: the error code of every command buffer from now on, 0 for none
   * </ul>
   *
   * <p>Settings of the machine, for which the device is ignored: {@code headless} (1 if programs
   * get no device), {@code os_major} (15) and {@code os_minor}, the version of macOS, in which
   * later methods are unknown.
   *
   * @throws IllegalArgumentException if there is no such device or setting
   */
  public void set(int device, String setting, long value) {
    if (!control.set(device, setting, value)) {
      throw new IllegalArgumentException(
          "the simulated Metal has no device %s, or no setting %s".formatted(device, setting));
    }
  }

  /** Changes a setting of all devices. */
  public void setAll(String setting, long value) {
    set(-1, setting, value);
  }

  /** Makes the nth message of a selector from now fail; 1 is the next. */
  public void fail(String selector, long nth, int code) {
    fail(selector, nth, code, 1);
  }

  /**
   * Makes messages of a selector fail. A failing message returns nil, and stores an error of the
   * code if it can. Only messages that return a new Metal object or an address can fail. The name
   * may also be that of a function that returns an object. {@code message} stands for all messages
   * and functions together. {@code execute} stands for the execution of command buffers, which end
   * with an error of the code and signal no event.
   *
   * @param nth the first message that fails, counted from now
   * @param times the number of failing messages; negative for all
   */
  public void fail(String selector, long nth, int code, long times) {
    ledger.fail(selector, nth, code, times);
  }

  /** Returns the number of messages of a selector. */
  public long calls(String selector) {
    return ledger.calls(selector);
  }

  /** Returns the number of messages of each selector that was used. */
  public Map<String, Long> calls() {
    Map<String, Long> calls = new TreeMap<>();
    for (String line : ledger.report("calls")) {
      int blank = line.lastIndexOf(' ');
      calls.put(line.substring(0, blank), Long.valueOf(line.substring(blank + 1)));
    }
    return calls;
  }

  /** Returns what a real device would have punished, at most 500 entries. */
  public List<String> violations() {
    return ledger.report("violations");
  }

  /** Returns legal operations that are slow or near a limit, at most 500 entries. */
  public List<String> notes() {
    return ledger.report("notes");
  }

  /** Returns the objects that the program owns, and their retain counts. */
  public List<String> leaks() {
    return ledger.report("leaks");
  }

  /** Clears counts, requested failures, violations and notes. */
  public void forget() {
    ledger.forget();
  }

  /** Returns every method of the simulated Metal, in the format of the table of methods. */
  List<String> methods() {
    return control.methods();
  }

  static MethodTable table() {
    return Table.INSTANCE;
  }
}
