package dev.tidepool.runtime;

import dev.tidepool.pool.Striping;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The cohorts that new buffers join: one is open for each stripe of threads, so that threads do not
 * meet.
 */
class Cohorts {
  private static final VarHandle OPEN = MethodHandles.arrayElementVarHandle(Cohort.Token[].class);

  private static final int STRIPES = 8;

  /** Tokens of two cache lines: one stripe's is replaced often, and the others' are read more. */
  private static final int STRIDE = 32;

  /** Members of one cohort, about. */
  private static final int CAPACITY = 64;

  private final AcceleratorMemory memory;
  private final ReferenceQueue<Cohort.Token> unreachable = new ReferenceQueue<>();
  private final Cohort.@Nullable Token[] open = new Cohort.Token[STRIPES * STRIDE];

  /** None yet, of a manager's buffers. */
  Cohorts(AcceleratorMemory memory) {
    this.memory = memory;
  }

  /**
   * The token for a buffer of so many bytes that is watched by itself, because its stack is taken,
   * here; null if it is not.
   */
  Cohort.@Nullable Token sampled(long bytes) {
    return null;
  }

  /** The token for the handles of a new buffer, whose cohort it has joined. */
  final Cohort.Token join() {
    int stripe = Striping.mine(STRIPES) * STRIDE;
    Cohort.Token current = (Cohort.Token) OPEN.getAcquire(open, stripe);
    return current != null && current.cohort().join(CAPACITY) ? current : replace(stripe);
  }

  /** The token for a buffer that is watched by itself. */
  final Cohort.Token alone(String site) {
    return new Cohort.Token(memory, unreachable, site);
  }

  private Cohort.Token replace(int stripe) {
    Cohort.Token fresh = new Cohort.Token(memory, unreachable, "");
    fresh.cohort().join(CAPACITY);
    OPEN.setRelease(open, stripe, fresh);
    return fresh;
  }

  /** Some moments have passed; called by the maintenance thread. */
  void tick() {}

  /** Closes the open cohorts, so that their tokens depend on handles alone. */
  void seal() {
    for (int i = 0; i < open.length; i += STRIDE) {
      OPEN.setVolatile(open, i, null);
    }
  }

  /** The cohorts whose handles are all gone, each answered once. */
  Set<Cohort> drain() {
    Set<Cohort> gone = Collections.newSetFromMap(new IdentityHashMap<>());
    Reference<? extends Cohort.Token> reference = unreachable.poll();
    while (reference != null) {
      gone.add((Cohort) reference);
      reference = unreachable.poll();
    }
    return gone;
  }
}
