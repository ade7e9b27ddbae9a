package dev.tidepool.pool.object;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The members of a pool by the identity of their objects. The pool uses it to find the member of a
 * returned object and to detect objects that are not its own.
 *
 * <p>An open-addressed table. Lookups take no lock and write nothing. Members are added and removed
 * under a lock, which is held for a few loads and stores, or for one copy when the table is
 * rebuilt. A thread that got an object from the pool finds it, because the member was added before
 * the object was handed out.
 */
final class IdentityTable<T> {
  private static final int SMALLEST = 16;

  /** Marks the entry of a removed member, so that lookups continue behind it. */
  private final PooledObject<?> gone = new PooledObject<>(new Object(), 0, 0);

  private volatile AtomicReferenceArray<@Nullable PooledObject<?>> table =
      new AtomicReferenceArray<>(SMALLEST);

  /** The number of entries that are not empty, and the number of members among them. */
  private int used;

  private int size;

  /** Returns the member of an object, or null if there is none. */
  @SuppressWarnings({
    "unchecked", // whose object it is, is a member of this pool
    "ReferenceEquality" // identity is what is asked for
  })
  @Nullable PooledObject<T> find(T object) {
    AtomicReferenceArray<@Nullable PooledObject<?>> entries = table;
    int mask = entries.length() - 1;
    int i = System.identityHashCode(object) & mask;
    while (true) {
      PooledObject<?> member = entries.getAcquire(i);
      if (member == null || member.object == object) {
        return (PooledObject<T>) member;
      }
      i = (i + 1) & mask;
    }
  }

  /** Adds a member. Returns false if its object is present already. */
  synchronized boolean add(PooledObject<T> member) {
    if (find(member.object) != null) {
      return false;
    }
    if (used * 2 >= table.length()) {
      rebuild();
    }
    enter(table, member);
    used++;
    size++;
    return true;
  }

  private void rebuild() {
    AtomicReferenceArray<@Nullable PooledObject<?>> larger =
        new AtomicReferenceArray<>(Math.max(SMALLEST, Integer.highestOneBit(size) * 8));
    for (int i = 0; i < table.length(); i++) {
      PooledObject<?> member = table.getPlain(i);
      if (member != null && member != gone) {
        enter(larger, member);
      }
    }
    used = size;
    table = larger;
  }

  private static void enter(
      AtomicReferenceArray<@Nullable PooledObject<?>> entries, PooledObject<?> member) {
    int mask = entries.length() - 1;
    int i = System.identityHashCode(member.object) & mask;
    while (entries.getPlain(i) != null) {
      i = (i + 1) & mask;
    }
    entries.setRelease(i, member);
  }

  synchronized void remove(PooledObject<T> member) {
    AtomicReferenceArray<@Nullable PooledObject<?>> entries = table;
    int mask = entries.length() - 1;
    int i = System.identityHashCode(member.object) & mask;
    while (entries.getPlain(i) != member) {
      i = (i + 1) & mask;
    }
    entries.setRelease(i, gone);
    size--;
  }

  /** Returns all current members. */
  @SuppressWarnings("unchecked") // all but the mark are members of this pool
  List<PooledObject<T>> members() {
    AtomicReferenceArray<@Nullable PooledObject<?>> entries = table;
    List<PooledObject<T>> members = new ArrayList<>();
    for (int i = 0; i < entries.length(); i++) {
      PooledObject<?> member = entries.getAcquire(i);
      if (member != null && member != gone) {
        members.add((PooledObject<T>) member);
      }
    }
    return members;
  }
}
