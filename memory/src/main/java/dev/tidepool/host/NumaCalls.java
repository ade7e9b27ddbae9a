package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.host.system.LibC;
import dev.tidepool.host.system.Platform;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * Linux's system calls for NUMA policies. The C library has no functions for them, so they are
 * called by number.
 *
 * <p>{@code mbind} sets the policy of an address range. {@code set_mempolicy} sets the policy of a
 * thread, only for the duration of one driver call ({@link ThreadNumaPolicy}). Otherwise the policy
 * would also affect other memory that the thread allocates. Containers often forbid these calls;
 * they then count as absent.
 */
final class NumaCalls {
  private static final long MPOL_F_ADDR = 2;
  private static final int MPOL_MODE_FLAGS = 0xE000;

  /** The bits of a node mask, more than any kernel supports. */
  private static final int MASK_BITS = 1024;

  /** The kernel reads one bit less than the given number. */
  private static final long MAX_NODE = MASK_BITS + 1L;

  private static final boolean AVAILABLE = LibC.hasNumaCalls() && answers();

  /** The function {@code syscall} with the arguments of each call. */
  private static final class Calls {
    private static final Linker.Option VARIADIC = Linker.Option.firstVariadicArg(1);
    static final Platform.Numa NUMBERS = Platform.CURRENT.numa().orElseThrow();
    static final MethodHandle MBIND =
        LibC.link(
            "syscall",
            FunctionDescriptor.of(
                JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG),
            VARIADIC);
    static final MethodHandle SET_MEMPOLICY =
        LibC.link(
            "syscall",
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG),
            VARIADIC);
    static final MethodHandle GET_MEMPOLICY =
        LibC.link(
            "syscall",
            FunctionDescriptor.of(
                JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG),
            VARIADIC);
  }

  private NumaCalls() {}

  /** Returns whether the system has these calls and this process may make them. */
  static boolean available() {
    return AVAILABLE;
  }

  /**
   * Sets the policy of untouched pages. Returns whether the system accepted it.
   *
   * @param bytes whole pages
   */
  static boolean bind(long address, long bytes, NumaPolicy policy) {
    try (Arena arena = Arena.ofConfined()) {
      return (long)
              Calls.MBIND.invokeExact(
                  Calls.NUMBERS.mbind(),
                  MemorySegment.ofAddress(address),
                  bytes,
                  code(policy.mode()),
                  mask(arena, policy.nodes()),
                  MAX_NODE,
                  0L)
          == 0;
    } catch (Throwable e) {
      throw LibC.unexpected(e);
    }
  }

  /** Sets the policy of the calling thread. Returns whether the system accepted it. */
  static boolean setThreadPolicy(NumaPolicy policy) {
    try (Arena arena = Arena.ofConfined()) {
      return policy.nodes().getLast() < MASK_BITS
          && set(code(policy.mode()), mask(arena, policy.nodes()));
    }
  }

  /** Returns the policy of the calling thread. Policies that this class does not know are LOCAL. */
  static NumaPolicy threadPolicy() {
    try (ThreadPolicy policy = ThreadPolicy.ofThisThread()) {
      return policy(policy.mode.get(JAVA_INT, 0), nodesOf(policy.mask));
    }
  }

  /** The policy of the calling thread at one time, as the system reports it. */
  static final class ThreadPolicy implements AutoCloseable {
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment mode = arena.allocate(JAVA_INT);
    private final MemorySegment mask = mask(arena, List.of());

    static ThreadPolicy ofThisThread() {
      ThreadPolicy policy = new ThreadPolicy();
      // Cannot fail if the calls are available. After a failure this would be the default policy.
      var _ = get(policy.mode, policy.mask, 0, 0);
      return policy;
    }

    /** Restores this policy of the calling thread. Returns whether the system accepted it. */
    boolean restore() {
      return set(mode.get(JAVA_INT, 0), mask);
    }

    @Override
    public void close() {
      arena.close();
    }
  }

  private static MemorySegment mask(Arena arena, List<Integer> nodes) {
    MemorySegment mask = arena.allocate(MASK_BITS / 8, Long.BYTES);
    for (int node : nodes) {
      long word = mask.getAtIndex(JAVA_LONG, node / Long.SIZE);
      mask.setAtIndex(JAVA_LONG, node / Long.SIZE, word | 1L << node);
    }
    return mask;
  }

  private static boolean set(long mode, MemorySegment mask) {
    try {
      return (long) Calls.SET_MEMPOLICY.invokeExact(Calls.NUMBERS.setPolicy(), mode, mask, MAX_NODE)
          == 0;
    } catch (Throwable e) {
      throw LibC.unexpected(e);
    }
  }

  /** Returns the system's policy for an address. A policy that has no name here is LOCAL. */
  static NumaPolicy policyAt(long address) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment mode = arena.allocate(JAVA_INT);
      MemorySegment mask = mask(arena, List.of());
      return get(mode, mask, address, MPOL_F_ADDR) == 0
          ? policy(mode.get(JAVA_INT, 0), nodesOf(mask))
          : NumaPolicy.LOCAL;
    }
  }

  /** Returns a policy by its number. Without nodes, the system uses the local node: LOCAL. */
  static NumaPolicy policy(int mode, List<Integer> nodes) {
    for (NumaPolicy.Mode known : NumaPolicy.Mode.values()) {
      if (!nodes.isEmpty() && code(known) == (mode & ~MPOL_MODE_FLAGS)) {
        return known == NumaPolicy.Mode.LOCAL ? NumaPolicy.LOCAL : new NumaPolicy(known, nodes);
      }
    }
    return NumaPolicy.LOCAL;
  }

  private static List<Integer> nodesOf(MemorySegment mask) {
    List<Integer> nodes = new ArrayList<>();
    for (int node = 0; node < MASK_BITS; node++) {
      if ((mask.getAtIndex(JAVA_LONG, node / Long.SIZE) >>> node & 1) != 0) {
        nodes.add(node);
      }
    }
    return nodes;
  }

  private static long code(NumaPolicy.Mode mode) {
    return switch (mode) {
      case LOCAL -> 0;
      case PREFERRED -> 1;
      case BIND -> 2;
      case INTERLEAVE -> 3;
    };
  }

  private static boolean answers() {
    try (Arena arena = Arena.ofConfined()) {
      return get(arena.allocate(JAVA_INT), mask(arena, List.of()), 0, 0) == 0;
    }
  }

  private static long get(MemorySegment mode, MemorySegment mask, long address, long flags) {
    try {
      return (long)
          Calls.GET_MEMPOLICY.invokeExact(
              Calls.NUMBERS.getPolicy(),
              mode,
              mask,
              MAX_NODE,
              MemorySegment.ofAddress(address),
              flags);
    } catch (Throwable e) {
      throw LibC.unexpected(e);
    }
  }
}
