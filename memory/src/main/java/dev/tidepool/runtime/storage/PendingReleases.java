package dev.tidepool.runtime.storage;

import dev.tidepool.runtime.order.OrderedResource;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The closed storages of a manager whose release is requested and not finished. A request for
 * memory finds here the memory that is about to become free, without a scan of all buffers.
 *
 * <p>The list refers to links, not to {@code Storage}, so that the two form no cycle of classes.
 *
 * <p>The list is linked through the storages, because a release of memory must create no object. No
 * other code is called under the monitor.
 *
 * @param <S> the type of the storages
 */
public final class PendingReleases<S extends PendingReleases.Link> {
  /** A member of the list; its fields are guarded by the monitor of the list. */
  abstract static class Link extends OrderedResource {
    private boolean pending;
    // Whether a thread has begun to free the memory.
    private boolean freeing;
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
    link.freeing = false;
    Link second = first;
    link.behind = second;
    if (second != null) {
      second.before = link;
    }
    first = link;
  }

  /** Notes that the calling thread frees the memory of a storage; {@link #remove} follows. */
  synchronized void begin(S storage) {
    Link link = storage;
    link.freeing = true;
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

  /**
   * Returns the storages whose memory no thread has begun to free, in reverse order of their
   * addition.
   */
  public List<S> all() {
    return members(false);
  }

  /** Like {@link #all}, but includes the storages whose memory a thread is freeing. */
  List<S> unfinished() {
    return members(true);
  }

  @SuppressWarnings("unchecked") // only S are added
  private synchronized List<S> members(boolean freeing) {
    if (first == null) {
      return List.of();
    }
    List<S> all = new ArrayList<>();
    for (Link each = first; each != null; each = each.behind) {
      if (freeing || !each.freeing) {
        all.add((S) each);
      }
    }
    return all;
  }
}
