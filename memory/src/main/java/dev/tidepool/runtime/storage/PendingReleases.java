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
 * <p>It knows no {@code Storage}, only links, so that the two form no cycle of classes.
 *
 * <p>A list that is linked through the storages: adding and removing makes no object, because both
 * happen where memory is given back. The monitor is held for some stores, and nothing is called
 * under it.
 *
 * @param <S> the storages
 */
public final class PendingReleases<S extends PendingReleases.Link> {
  /** A member of the list; its fields are guarded by the monitor of the list. */
  abstract static class Link extends OrderedResource {
    private boolean pending;
    private @Nullable Link before;
    private @Nullable Link behind;
  }

  private @Nullable Link first;

  /** Adds a storage, unless it is a member. */
  synchronized void add(S storage) {
    Link link = storage;
    if (link.pending) {
      return;
    }
    link.pending = true;
    Link second = first;
    link.behind = second;
    if (second != null) {
      second.before = link;
    }
    first = link;
  }

  /** Removes a storage, if it is a member. */
  synchronized void remove(S storage) {
    Link link = storage;
    if (!link.pending) {
      return;
    }
    link.pending = false;
    Link before = link.before;
    Link behind = link.behind;
    if (before == null) {
      first = behind;
    } else {
      before.behind = behind;
    }
    if (behind != null) {
      behind.before = before;
    }
    link.before = null;
    link.behind = null;
  }

  /** Returns the storages whose memory has not been given back, the one closed last first. */
  @SuppressWarnings("unchecked") // what was added
  public synchronized List<S> all() {
    if (first == null) {
      return List.of();
    }
    List<S> all = new ArrayList<>();
    for (Link each = first; each != null; each = each.behind) {
      all.add((S) each);
    }
    return all;
  }
}
