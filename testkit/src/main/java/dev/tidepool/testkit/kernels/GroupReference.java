package dev.tidepool.testkit.kernels;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Phaser;

/**
 * Calls a kernel's method as plain Java, on one thread for each item of a group. The threads wait
 * for each other at barriers, but not for items that have ended.
 */
final class GroupReference {
  private GroupReference() {}

  /**
   * Calls a method for all items.
   *
   * @param arguments the arguments after the item
   * @return the exceptions of items
   */
  static List<Throwable> run(Method method, KernelRange range, Object... arguments) {
    Queue<Throwable> faults = new ConcurrentLinkedQueue<>();
    for (int group = 0; group < range.groups(); group++) {
      Phaser barrier = new Phaser(range.groupItems());
      Map<Integer, int[]> shared = new ConcurrentHashMap<>();
      List<Thread> threads = new ArrayList<>();
      for (int local = 0; local < range.groupItems(); local++) {
        Item item = new Item(range, group, local, barrier, shared);
        threads.add(
            Thread.ofVirtual()
                .start(
                    () -> {
                      try {
                        call(method, item, arguments, faults);
                      } finally {
                        barrier.arriveAndDeregister();
                      }
                    }));
      }
      threads.forEach(GroupReference::join);
    }
    return List.copyOf(faults);
  }

  private static void call(Method method, Item item, Object[] arguments, Queue<Throwable> faults) {
    Object[] all = new Object[arguments.length + 1];
    all[0] = item;
    System.arraycopy(arguments, 0, all, 1, arguments.length);
    try {
      method.invoke(null, all);
    } catch (InvocationTargetException e) {
      faults.add(e.getCause());
    } catch (IllegalAccessException e) {
      throw new LinkageError("the method was made accessible", e);
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while items of a kernel run", e);
    }
  }

  /** An item that waits for the others of its group. */
  private static final class Item extends RangeItem {
    private final Phaser barrier;
    private final Map<Integer, int[]> shared;
    private int arrays;

    Item(KernelRange range, int group, int local, Phaser barrier, Map<Integer, int[]> shared) {
      super(range, group, local);
      this.barrier = barrier;
      this.shared = shared;
    }

    @Override
    public void barrier() {
      barrier.arriveAndAwaitAdvance();
    }

    /** Returns an array of the group: all items request the same arrays in the same order. */
    @Override
    public int[] localInts(int length) {
      return shared.computeIfAbsent(arrays++, _ -> new int[length]);
    }
  }
}
