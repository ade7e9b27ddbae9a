package dev.tidepool.cli;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * A demo program that trains a small model forever. Weights stay allocated, batches are allocated
 * and freed, activations grow and shrink. A cache leaks until it is emptied at 32 MiB.
 */
final class TidalProgram implements AutoCloseable {
  private static final Allocation WEIGHTS = tagged("weights");
  private static final Allocation BATCH = tagged("batch");
  private static final Allocation ACTIVATIONS = tagged("activations");
  private static final Allocation GRADIENTS = tagged("gradients");
  private static final Allocation SESSION_CACHE = tagged("session cache");

  private static final int LAYERS = 12;
  private static final int BATCHES_AHEAD = 3;
  private static final int MOST_SESSIONS = 512;
  private static final long KIB = 1 << 10;
  private static final long PAUSE_MILLIS = 8;

  private final UnifiedMemoryManager memory;
  private final List<UnifiedBuffer<?>> weights = new ArrayList<>();
  private final Deque<UnifiedBuffer<?>> batches = new ArrayDeque<>();
  private final List<UnifiedBuffer<?>> sessions = new ArrayList<>();
  private final Thread thread;
  private volatile boolean ended;

  TidalProgram(UnifiedMemoryManager memory) {
    this.memory = memory;
    this.thread = Thread.ofPlatform().daemon().name("tidal-program").unstarted(this::run);
  }

  private static Allocation tagged(String tag) {
    return Allocation.at(MemoryLocation.DEVICE).tag(tag);
  }

  void start() {
    thread.start();
  }

  /** Waits until the training thread ends; before {@link #close}, only an error ends it. */
  void await() throws InterruptedException {
    thread.join();
  }

  private void run() {
    for (int layer = 0; layer < LAYERS; layer++) {
      weights.add(memory.allocate(ElementType.BYTE, (512 + 64 * layer) * KIB, WEIGHTS));
    }
    while (!ended) {
      nextBatch();
      train();
      rememberSession();
    }
  }

  private void nextBatch() {
    batches.add(memory.allocate(ElementType.BYTE, 768 * KIB, BATCH));
    if (batches.size() > BATCHES_AHEAD) {
      batches.remove().close();
    }
  }

  /** Trains forward through the layers, and back. */
  private void train() {
    Deque<UnifiedBuffer<?>> activations = new ArrayDeque<>();
    for (int layer = 0; layer < LAYERS; layer++) {
      long bytes = (256 + 96 * (layer % 4)) * KIB;
      activations.push(memory.allocate(ElementType.BYTE, bytes, ACTIVATIONS));
      rest();
    }
    while (!activations.isEmpty()) {
      try (UnifiedBuffer<?> gradient = memory.allocate(ElementType.BYTE, 200 * KIB, GRADIENTS)) {
        gradient.fill((byte) 0);
        rest();
      }
      activations.pop().close();
    }
  }

  /** Adds a session that no code closes: the leak of this demo. */
  private void rememberSession() {
    sessions.add(memory.allocate(ElementType.BYTE, 64 * KIB, SESSION_CACHE));
    if (sessions.size() >= MOST_SESSIONS) {
      sessions.forEach(UnifiedBuffer::close);
      sessions.clear();
    }
  }

  private void rest() {
    try {
      Thread.sleep(ended ? 0 : PAUSE_MILLIS);
    } catch (InterruptedException e) {
      ended = true;
    }
  }

  /** Ends the training. The manager frees the remaining buffers when it is closed. */
  @Override
  public void close() {
    ended = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
