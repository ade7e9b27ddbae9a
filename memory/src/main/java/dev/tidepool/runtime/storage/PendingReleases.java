package dev.tidepool.runtime.storage;

import dev.tidepool.runtime.order.OrderedResource;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The storages of a manager that are closed and have asked for their memory to be given back, until
 * that is done. So a request for memory finds what is about to become free without a look at all
 * buffers.
 *
 * <p>A list that is linked through the storages: adding and removing makes no object, because both
 * happen where memory is given back. The monitor is held for some stores, and nothing is called
 * under it.
 */
public final class PendingReleases {
  /** A member of the list; its fields are guarded by the monitor of the list. */
  abstract static class Link extends OrderedResource {
    private boolean pending;
    private @Nullable Link before;
    private @Nullable Link behind;
  }

  private @Nullable Link first;

  /** Adds a storage, unless it is a member. */
  synchronized void add(Link storage) {
    if (storage.pending) {
      return;
    }
    storage.pending = true;
    Link second = first;
    storage.behind = second;
    if (second != null) {
      second.before = storage;
    }
    first = storage;
  }

  /** Removes a storage, if it is a member. */
  synchronized void remove(Link storage) {
    if (!storage.pending) {
      return;
    }
    storage.pending = false;
    Link before = storage.before;
    Link behind = storage.behind;
    if (before == null) {
      first = behind;
    } else {
      before.behind = behind;
    }
    if (behind != null) {
      behind.before = before;
    }
    storage.before = null;
    storage.behind = null;
  }

  /** Returns the storages whose memory has not been given back, the one closed last first. */
  public synchronized List<Storage> all() {
    if (first == null) {
      return List.of();
    }
    List<Storage> all = new ArrayList<>();
    for (Link each = first; each != null; each = each.behind) {
      all.add((Storage) each);
    }
    return all;
  }
}
