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
 * The simulated Metal, compiled for this machine, and how tests steer it.
 *
 * <p>A program under test finds all functions in {@link #library()}: those of the Objective-C
 * runtime and of Metal. Loaded into this process, it is the same Metal that the methods here steer.
 * Other processes are set up by the environment: {@code TIDEPOOL_METAL_SIM} holds {@code
 * name=value} pairs with blanks between, of {@code devices} and the settings of {@link #set}, with
 * {@code 2.} before a name for device 2 alone; {@code TIDEPOOL_METAL_SIM_REPORT} names a file to
 * which violations and leaks are appended when the process exits.
 *
 * <p>How it differs from a Mac:
 *
 * <ul>
 *   <li>Objects are numbers, and no number is used twice. A message to a released object, one that
 *       its class does not understand, and any other misuse is a violation and answers 0.
 *   <li>An object that the program does not own any more must not be used, although Metal may still
 *       keep it alive.
 *   <li>The host cannot reach private memory. On a device without unified memory, managed memory
 *       has two copies.
 *   <li>Kernels are compiled by the host's compiler: no textures, no functions of SIMD groups, no
 *       swizzles. What the language does not have is refused: {@code goto}, {@code double},
 *       pointers without an address space. Fast math and contraction are on until a program
 *       switches them off, subnormal numbers are flushed, and functions are as wrong as the
 *       language permits.
 *   <li>The commands of one queue run one after another.
 *   <li>Blocks are not called.
 * </ul>
 *
 * <p>Safe for use by any thread, but for {@link #reset}.
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

  /** Returns the simulated Metal, compiled at the first call; empty where it cannot be. */
  public static Optional<SimulatedMetal> find() {
    return Loaded.INSTANCE;
  }

  /** Returns the simulated Metal. If there is none, skips the calling test with the reason. */
  public static SimulatedMetal orSkip() {
    return find().orElseGet(() -> Assumptions.abort(whyAbsent()));
  }

  /** Why there is no simulated Metal; empty where there is one. */
  public static String whyAbsent() {
    return BUILD.whyAbsent();
  }

  /**
   * Compares declarations of methods with what Apple documents. Works without the simulated Metal.
   *
   * @return a line for each method that is unknown or has another signature
   */
  public static List<String> checkSignatures(List<MetalMethod> declared) {
    return declared.stream().flatMap(method -> Table.INSTANCE.complaint(method).stream()).toList();
  }

  /**
   * Compares a declaration of a C function with what Apple documents. Works without the simulated
   * Metal.
   *
   * @return what is wrong; empty if nothing is
   */
  public static Optional<String> checkFunction(String name, FunctionDescriptor descriptor) {
    return Table.INSTANCE.complaint(name, descriptor);
  }

  /**
   * Returns the value that Apple documents for a constant, such as {@code
   * MTLCommandBufferStatusError}. Works without the simulated Metal.
   *
   * @throws IllegalArgumentException when the table does not have it
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
   * Ends all that there is and starts again with that many devices of 1 GiB that share the host's
   * memory; counts, failures and findings are forgotten. No other thread may send messages
   * meanwhile.
   */
  public void reset(int devices) {
    ledger.reset(devices);
  }

  /**
   * Changes a setting of one device:
   *
   * <ul>
   *   <li>{@code memory}: bytes that can be allocated
   *   <li>{@code working_set}: the recommended most; 0, as at first, for three quarters of the
   *       memory
   *   <li>{@code max_buffer}: the length of the longest buffer; 0, as at first, for half the memory
   *   <li>{@code unified}: 1, as at first, for a device that shares the host's memory; 0 also
   *       changes the family, to Mac2
   *   <li>{@code family}: the newest of Apple's families that it belongs to, 1007 at first
   *   <li>{@code low_power}, {@code removable}: 0 at first
   *   <li>{@code threads_per_group}: 1024 at first
   *   <li>{@code group_memory}: bytes of threadgroup memory, 32 KiB at first
   *   <li>{@code resources}: how many there can be, 499000 at first
   *   <li>{@code subnormals}: 1 when kernels keep subnormal numbers, 0 at first
   *   <li>{@code latency_ns}: what each command buffer takes at least, in nanoseconds; 0 at first
   *   <li>{@code bandwidth}: bytes a second that all blits together move; 0, as at first, for as
   *       fast as the host
   *   <li>{@code lost}: the code that every command buffer fails with from now on, and 0 for none
   * </ul>
   *
   * <p>and of the machine, for which the device is ignored: {@code headless} (1 when programs get
   * no device), {@code os_major} (15) and {@code os_minor}, the version of macOS; methods that came
   * later are unknown.
   *
   * @throws IllegalArgumentException when there is no such device or setting
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

  /** Lets the nth message of a selector from now on fail, 1 being the next. */
  public void fail(String selector, long nth, int code) {
    fail(selector, nth, code, 1);
  }

  /**
   * Lets messages of a selector fail: from the nth from now on, so many times (less than 0 for
   * ever). A message that fails answers nil, and an error of that code where it can store one; only
   * those can that answer a new object of Metal's, or an address. The name may also be that of a
   * function that answers an object; {@code message} stands for all of them together, and {@code
   * execute} for the execution of command buffers, which end with an error of that code and signal
   * no event.
   */
  public void fail(String selector, long nth, int code, long times) {
    ledger.fail(selector, nth, code, times);
  }

  /** Returns how often messages of a selector were sent. */
  public long calls(String selector) {
    return ledger.calls(selector);
  }

  /** Returns how often messages of each selector were sent that were. */
  public Map<String, Long> calls() {
    Map<String, Long> calls = new TreeMap<>();
    for (String line : ledger.report("calls")) {
      int blank = line.lastIndexOf(' ');
      calls.put(line.substring(0, blank), Long.valueOf(line.substring(blank + 1)));
    }
    return calls;
  }

  /** Returns what a real device would have punished, the first 500 of it. */
  public List<String> violations() {
    return ledger.report("violations");
  }

  /** Returns what was legal but is slow or short of something, the first 500 of it. */
  public List<String> notes() {
    return ledger.report("notes");
  }

  /** Returns the objects that the program owns now, and how often it retained them. */
  public List<String> leaks() {
    return ledger.report("leaks");
  }

  /** Forgets counts, failures that were asked for, violations and notes. */
  public void forget() {
    ledger.forget();
  }

  /** Every method of the simulated Metal, as in the table of methods. */
  List<String> methods() {
    return control.methods();
  }

  static MethodTable table() {
    return Table.INSTANCE;
  }
}
