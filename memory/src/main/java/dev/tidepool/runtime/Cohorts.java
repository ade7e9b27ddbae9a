package dev.tidepool.runtime;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The live storages of a manager, in cohorts; several cohorts are open at a time, one for each
 * stripe of threads, so that threads do not meet.
 */
final class Cohorts {
  private static final int STRIPES = 8;

  /** An open cohort with the token that its members' handles will hold. */
  private record Open(Cohort cohort, Cohort.Token token) {}

  private final int capacity;
  private final ReferenceQueue<Cohort.Token> unreachable = new ReferenceQueue<>();
  private final Set<Cohort> cohorts = ConcurrentHashMap.newKeySet();
  private final AtomicReferenceArray<@Nullable Open> open = new AtomicReferenceArray<>(STRIPES);

  /**
   * An empty registry.
   *
   * @param capacity members of one cohort; 1 notices each buffer by itself
   */
  Cohorts(int capacity) {
    this.capacity = capacity;
  }

  /** Writes a storage down and answers the token that its handles must hold. */
  Cohort.Token join(Storage storage) {
    int stripe = (int) (Thread.currentThread().threadId() & (STRIPES - 1));
    while (true) {
      Open current = open.get(stripe);
      if (current != null) {
        Cohort.Place place = current.cohort().join(storage);
        if (place != null) {
          storage.placed(place);
          return current.token();
        }
      }
      replace(stripe, current, fresh());
    }
  }

  private Open fresh() {
    Cohort.Token token = new Cohort.Token();
    return new Open(new Cohort(this, token, unreachable, capacity), token);
  }

  private void replace(int stripe, @Nullable Open current, @Nullable Open successor) {
    if (successor != null) {
      cohorts.add(successor.cohort());
    }
    if (open.compareAndSet(stripe, current, successor)) {
      if (current != null) {
        current.cohort().seal();
      }
    } else if (successor != null) {
      cohorts.remove(successor.cohort());
    }
  }

  /** Closes the open cohorts, so that their tokens depend on handles alone. */
  void seal() {
    for (int i = 0; i < STRIPES; i++) {
      Open current = open.get(i);
      if (current != null && !current.cohort().isEmpty()) {
        replace(i, current, null);
      }
    }
  }

  void forget(Cohort cohort) {
    cohorts.remove(cohort);
  }

  /**
   * Hands the storages whose handles are all gone to {@code leaked}; answers how many there were.
   */
  int drain(Consumer<Storage> leaked) {
    int count = 0;
    Reference<? extends Cohort.Token> reference = unreachable.poll();
    while (reference != null) {
      if (reference instanceof Cohort cohort) {
        List<Storage> members = new ArrayList<>();
        cohort.forEach(members::add);
        members.forEach(leaked);
        count += members.size();
      }
      reference = unreachable.poll();
    }
    return count;
  }

  /** The storages that live now. */
  List<Storage> live() {
    List<Storage> live = new ArrayList<>();
    cohorts.forEach(cohort -> cohort.forEach(live::add));
    return live;
  }
}
