package dev.tidepool.runtime.metering;

import dev.tidepool.runtime.context.ManagerContext;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;

/**
 * Buffers that were allocated one after another, watched by one phantom reference.
 *
 * <p>One reference for each buffer would cost more than the buffer; one for a leak group costs
 * almost nothing. Every handle of a member refers to the group's {@link Token}, and every buffer
 * core refers to the group. When the token is unreachable, no handle is left, and members that are
 * still open have leaked. The disadvantage: a leak is found only when the last handle of the group
 * is gone, so one long-lived buffer hides the leaks of its neighbours. For this reason leak groups
 * are small and are closed often, and a buffer {@linkplain LeakDetector#sampled in the sample} has
 * its own group.
 *
 * <p>A leak group whose members are all closed becomes unreachable over time, as other buffers take
 * their blocks. It may be enqueued before that, which costs a search of the live buffers.
 */
public final class LeakGroup extends PhantomReference<LeakGroup.Token> {
  /** The approximate number of members. */
  private static final int CAPACITY = 64;

  /** The object to which every handle of a member refers. */
  public static final class Token {
    private final LeakGroup leakGroup;

    /**
     * Creates the token of a new leak group.
     *
     * @param context of the manager that owns the members
     * @param site the stack that allocated the only member; empty if no stack is recorded
     */
    Token(ManagerContext context, ReferenceQueue<Token> queue, String site) {
      this.leakGroup = new LeakGroup(this, context, queue, site);
    }

    public LeakGroup leakGroup() {
      return leakGroup;
    }
  }

  private final ManagerContext context;
  private final String site;
  private final long createdNanos = System.nanoTime();

  /** Incremented by joining threads without synchronization: a small error does no harm. */
  private int joined;

  private LeakGroup(Token token, ManagerContext context, ReferenceQueue<Token> queue, String site) {
    super(token, queue);
    this.context = context;
    this.site = site;
  }

  public ManagerContext context() {
    return context;
  }

  /** Returns the stack that allocated the only member, or an empty string if none is recorded. */
  public String site() {
    return site;
  }

  /** Returns approximately when the members were allocated. */
  public long createdNanos() {
    return createdNanos;
  }

  /** Counts a member. Returns false if the group is full. */
  boolean join() {
    int members = joined;
    joined = members + 1;
    return members < CAPACITY;
  }
}
