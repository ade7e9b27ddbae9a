package dev.tidepool.runtime.order;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the buffer before still does with a block that has its next owner already.
 *
 * @param works what that buffer asked for last; when it has ended, so has all that came before
 * @param end the last work of that buffer, behind all of these
 */
public record PriorUse(List<Operation> works, Operation end) {
  /** The most pieces of work that one of the next owner comes behind. */
  int size() {
    return works.size() + 1;
  }

  /**
   * Whether it will end without further memory: a part of it runs and does not wait for memory, or
   * is about to run, or all parts are done and its end is on its way to a thread.
   */
  boolean goesOn() {
    boolean allDone = true;
    for (int i = 0; i < works.size(); i++) {
      Operation work = works.get(i);
      if (!work.isDone()) {
        allDone = false;
        Thread runner = work.runner();
        if (work.isSubmitted()) {
          return true;
        }
        if (runner == null ? work.isItsTurn() : !MemoryWaiters.isStopped(runner)) {
          return true;
        }
      }
    }
    return allDone;
  }

  /** Returns the end if nothing is ahead of it and it has not ended; null otherwise. */
  @Nullable Operation dueEnd() {
    return end.isItsTurn() ? end : null;
  }

  /**
   * Lets work of the next owner come behind it. It shares no failure: what failed was another's.
   */
  void precede(Operation next) {
    // By index: an iterator is an object, and entering a queue allocates none.
    for (int i = 0; i < works.size(); i++) {
      next.followOnHost(works.get(i));
    }
    if (next.runsAlways()) {
      // It gives the block up or moves what is in it, which the buffer before must not hear of
      // late.
      next.followOnHost(end);
    }
  }
}
