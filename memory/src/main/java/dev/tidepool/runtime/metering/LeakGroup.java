package dev.tidepool.runtime.metering;

import dev.tidepool.runtime.context.ManagerContext;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;

/**
 * Buffers that were allocated one after another, watched by one phantom reference.
 *
 * <p>One reference for each buffer costs more than the buffer; one for a leak group costs next to
 * nothing. Every handle of every member holds the leak group's {@link Token}, and every buffer core
 * the leak group; when the token is unreachable, no handle is left, and members that are still open
 * have leaked. The price: a leak is noticed when the last handle of its group is gone, so one
 * long-lived buffer hides the leaks of those that were allocated next to it. Leak groups are small
 * and closed often for that reason, and a buffer whose {@link SamplingLeakDetector site is
 * recorded} has one of its own.
 *
 * <p>A leak group whose members are all closed is dropped over time, as others take their blocks;
 * it may be enqueued before that, which costs a search of the live buffers.
 */
public final class LeakGroup extends PhantomReference<LeakGroup.Token> {
  /** The object that every handle of a member refers to. */
  public static final class Token {
    private final LeakGroup leakGroup;

    /**
     * Creates the token of a new leak group.
     *
     * @param context that its members belong to
     * @param site the stack that allocates its only member; empty if that is not recorded
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

  /** Counted without synchronization by joining threads: a small error does no harm. */
  private int joined;

  private LeakGroup(Token token, ManagerContext context, ReferenceQueue<Token> queue, String site) {
    super(token, queue);
    this.context = context;
    this.site = site;
  }

  public ManagerContext context() {
    return context;
  }

  /** Returns the stack that allocated its only member; empty if that is not recorded. */
  public String site() {
    return site;
  }

  /** About when its members were allocated. */
  public long createdNanos() {
    return createdNanos;
  }

  /** Counts a member; returns false if the group is full. */
  boolean join(int capacity) {
    int members = joined;
    joined = members + 1;
    return members < capacity;
  }
}
