package dev.tidepool.runtime.order;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The order of the operations on one storage: the last write, and the reads behind it. Guarded by
 * the storage's monitor. Entering and leaving allocate no object.
 */
public final class OperationQueue {
  private @Nullable OrderedOperation lastWrite;
  // Whether `lastWrite` changes bytes. It may be a read or a move that must run alone.
  private boolean lastWrites;
  // Linked through the accesses, in the order in which they entered.
  private @Nullable ResourceAccess firstRead;
  private @Nullable ResourceAccess lastRead;
  private int reads;

  /** Returns how many operations would be ahead of one with this access if it entered now. */
  int mostAhead(ResourceAccess use) {
    return (lastWrite == null ? 0 : 1) + (use.alone() ? reads : 0);
  }

  void enter(OrderedOperation operation, ResourceAccess use) {
    use.operation = operation;
    use.entered = true;
    if (lastWrite != null) {
      operation.follow(lastWrite, !use.forgives(), lastWrites);
    }
    if (!use.alone()) {
      addRead(use);
      return;
    }
    while (firstRead != null) {
      operation.follow(Objects.requireNonNull(firstRead.operation, "it has entered"), false, false);
      removeRead(firstRead);
    }
    lastWrite = operation;
    lastWrites = use.writes();
  }

  /** Removes an operation, unless it was removed before. */
  void leave(OrderedOperation operation, ResourceAccess use) {
    if (!use.entered) {
      return;
    }
    use.entered = false;
    if (operation.equals(lastWrite)) {
      lastWrite = null;
    } else if (use.reads) {
      removeRead(use);
    }
  }

  private void addRead(ResourceAccess use) {
    use.reads = true;
    use.readBefore = lastRead;
    if (lastRead == null) {
      firstRead = use;
    } else {
      lastRead.readAfter = use;
    }
    lastRead = use;
    reads++;
  }

  private void removeRead(ResourceAccess use) {
    ResourceAccess before = use.readBefore;
    ResourceAccess after = use.readAfter;
    if (before == null) {
      firstRead = after;
    } else {
      before.readAfter = after;
    }
    if (after == null) {
      lastRead = before;
    } else {
      after.readBefore = before;
    }
    use.readBefore = null;
    use.readAfter = null;
    use.reads = false;
    reads--;
  }

  public boolean isIdle() {
    return lastWrite == null && firstRead == null;
  }

  /** Returns the unfinished operations that all other unfinished operations are ahead of. */
  public List<OrderedOperation> tail() {
    List<OrderedOperation> tail = new ArrayList<>(reads + 1);
    for (ResourceAccess read = firstRead; read != null; read = read.readAfter) {
      tail.add(Objects.requireNonNull(read.operation, "it has entered"));
    }
    if (lastWrite != null) {
      tail.add(lastWrite);
    }
    return tail;
  }
}
