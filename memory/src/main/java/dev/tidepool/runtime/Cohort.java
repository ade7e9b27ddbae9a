package dev.tidepool.runtime;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Storages that were allocated one after another, watched by one phantom reference.
 *
 * <p>One reference for each buffer costs more than the buffer; one for a cohort costs next to
 * nothing. Every handle of every member holds the cohort's {@link Token}; when the token is gone,
 * no handle is left, and members that are still there have leaked. The price: a leak is noticed
 * when the last of its cohort is gone, so one long-lived buffer hides those that were allocated
 * next to it. Cohorts are small and closed often for that reason, and hold one member each where
 * sites are recorded.
 *
 * <p>A cohort is also where live storages are written down, at the price of one array element.
 */
final class Cohort extends PhantomReference<Cohort.Token> {
  /** What every handle of a member holds on to. */
  static final class Token {}

  /** Where a storage is written down. */
  record Place(Cohort cohort, int index) {
    /** The storage is freed. */
    void leave() {
      cohort.leave(index);
    }
  }

  private final Cohorts registry;
  private final AtomicReferenceArray<@Nullable Storage> members;
  private final AtomicInteger next = new AtomicInteger();
  // Members that have not left, and one while the cohort is open.
  private final AtomicInteger present = new AtomicInteger(1);

  Cohort(Cohorts registry, Token token, ReferenceQueue<Token> queue, int capacity) {
    super(token, queue);
    this.registry = registry;
    this.members = new AtomicReferenceArray<>(capacity);
  }

  /** Writes a storage down; null if the cohort is full or closed to newcomers. */
  @Nullable Place join(Storage storage) {
    // Present before the place is taken, so that sealing in between does not find the cohort empty.
    present.incrementAndGet();
    int index = next.getAndIncrement();
    if (index >= members.length() || index < 0) {
      depart();
      return null;
    }
    members.set(index, storage);
    return new Place(this, index);
  }

  boolean isEmpty() {
    return next.get() == 0;
  }

  /** Lets nobody in any more. Called once. */
  void seal() {
    next.set(members.length());
    depart();
  }

  private void leave(int index) {
    if (members.getAndSet(index, null) != null) {
      depart();
    }
  }

  private void depart() {
    if (present.decrementAndGet() == 0) {
      clear();
      registry.forget(this);
    }
  }

  /** The members that have not left. */
  void forEach(Consumer<Storage> action) {
    for (int i = 0; i < members.length(); i++) {
      Storage member = members.get(i);
      if (member != null) {
        action.accept(member);
      }
    }
  }
}
