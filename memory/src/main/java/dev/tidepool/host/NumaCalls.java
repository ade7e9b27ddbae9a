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
 * Linux's calls for NUMA policies, by number, so that no library is needed: the C library has no
 * functions for them.
 *
 * <p>Policies are given to address ranges with {@code mbind}. A thread is given one with {@code
 * set_mempolicy} only for the time of one call of a driver ({@link ThreadNumaPolicy}): else it
 * would follow the thread to memory that is none of ours. Containers often forbid these calls; then
 * they count as absent.
 */
final class NumaCalls {
  private static final long MPOL_F_ADDR = 2;
  private static final int MPOL_MODE_FLAGS = 0xE000;

  /** Bits of a node mask, above what any kernel is built for. */
  private static final int MASK_BITS = 1024;

  /** The kernel takes one bit less than it is told. */
  private static final long MAX_NODE = MASK_BITS + 1L;

  private static final boolean AVAILABLE = LibC.hasNumaCalls() && answers();

  /** The functions, {@code syscall} with the arguments that each call takes. */
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

  /** Returns whether the system has these calls and lets this process make them. */
  static boolean available() {
    return AVAILABLE;
  }

  /**
   * Gives untouched pages a policy; whether the system took it.
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

  /** Gives the calling thread a policy; whether the system took it. */
  static boolean setThreadPolicy(NumaPolicy policy) {
    try (Arena arena = Arena.ofConfined()) {
      return policy.nodes().getLast() < MASK_BITS
          && set(code(policy.mode()), mask(arena, policy.nodes()));
    }
  }

  /** Returns the policy of the calling thread; LOCAL also for those that have no name here. */
  static NumaPolicy threadPolicy() {
    try (ThreadPolicy policy = ThreadPolicy.ofThisThread()) {
      return policy(policy.mode.get(JAVA_INT, 0), nodesOf(policy.mask));
    }
  }

  /** The calling thread's policy at one time, just as the system tells it. */
  static final class ThreadPolicy implements AutoCloseable {
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment mode = arena.allocate(JAVA_INT);
    private final MemorySegment mask = mask(arena, List.of());

    static ThreadPolicy ofThisThread() {
      ThreadPolicy policy = new ThreadPolicy();
      // Cannot fail where the calls are available; if it did, it would stand for the default.
      var _ = get(policy.mode, policy.mask, 0, 0);
      return policy;
    }

    /** Gives it back to the calling thread; whether the system took it. */
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

  /** The policy that the system has for an address; LOCAL also for those that have no name here. */
  static NumaPolicy policyAt(long address) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment mode = arena.allocate(JAVA_INT);
      MemorySegment mask = mask(arena, List.of());
      return get(mode, mask, address, MPOL_F_ADDR) == 0
          ? policy(mode.get(JAVA_INT, 0), nodesOf(mask))
          : NumaPolicy.LOCAL;
    }
  }

  /** Returns what the system calls so: without nodes it prefers the local one, or has no policy. */
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
