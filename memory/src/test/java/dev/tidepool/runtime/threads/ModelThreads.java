package dev.tidepool.runtime.threads;

import java.util.ArrayList;
import java.util.List;

/** The threads that code under a model checker starts, also while others are joined. */
final class ModelThreads {
  private final List<Thread> threads = new ArrayList<>();

  void start(Runnable task) {
    Thread thread = new Thread(task);
    synchronized (threads) {
      threads.add(thread);
    }
    thread.start();
  }

  /** Runs tasks on a thread each, and waits for these. */
  static void run(Runnable... tasks) {
    ModelThreads threads = new ModelThreads();
    for (Runnable task : tasks) {
      threads.start(task);
    }
    threads.join();
  }

  /** Waits for all threads, also for those that are started meanwhile. */
  void join() {
    for (int i = 0; i < size(); i++) {
      try {
        get(i).join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }

  private int size() {
    synchronized (threads) {
      return threads.size();
    }
  }

  private Thread get(int index) {
    synchronized (threads) {
      return threads.get(index);
    }
  }
}
