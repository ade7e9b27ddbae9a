package dev.tidepool.testkit.kernels;

import dev.tidepool.WorkItem;
import java.lang.foreign.MemorySegment;
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
   * @param group the number of items in a group
   * @param arguments the arguments after the item
   * @return the exceptions of items
   */
  static List<Throwable> run(Method method, int items, int group, Object... arguments) {
    Queue<Throwable> faults = new ConcurrentLinkedQueue<>();
    for (int first = 0; first < items; first += group) {
      Phaser barrier = new Phaser(group);
      Map<Integer, int[]> shared = new ConcurrentHashMap<>();
      List<Thread> threads = new ArrayList<>();
      for (int local = 0; local < group; local++) {
        Item item = new Item(first + local, group, items, barrier, shared);
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

  /** An item of a range with one dimension. */
  private static final class Item implements WorkItem {
    private final int id;
    private final int group;
    private final int items;
    private final Phaser barrier;
    private final Map<Integer, int[]> shared;
    private int arrays;

    Item(int id, int group, int items, Phaser barrier, Map<Integer, int[]> shared) {
      this.id = id;
      this.group = group;
      this.items = items;
      this.barrier = barrier;
      this.shared = shared;
    }

    @Override
    public long globalId(int dimension) {
      return id;
    }

    @Override
    public long localId(int dimension) {
      return id % group;
    }

    @Override
    public long groupId(int dimension) {
      return id / group;
    }

    @Override
    public long globalSize(int dimension) {
      return items;
    }

    @Override
    public long groupSize(int dimension) {
      return group;
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

    @Override
    public MemorySegment array(int index) {
      throw new UnsupportedOperationException("arrays are parameters of the method");
    }

    @Override
    public double scalar(int index) {
      throw new UnsupportedOperationException("scalars are parameters of the method");
    }

    @Override
    public long integer(int index) {
      throw new UnsupportedOperationException("scalars are parameters of the method");
    }

    @Override
    public MemorySegment localMemory() {
      throw new UnsupportedOperationException("memory of the group is an array");
    }
  }
}
