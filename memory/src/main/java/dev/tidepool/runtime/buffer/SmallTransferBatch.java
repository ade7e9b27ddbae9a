package dev.tidepool.runtime.buffer;

import dev.tidepool.AcceleratorException;
import dev.tidepool.link.CoalescedCopy;
import dev.tidepool.link.CoalescedCopy.Move;
import dev.tidepool.link.Direction;
import dev.tidepool.link.TransferContext;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.RetryPolicy;
import dev.tidepool.transfer.TransferWay;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * Small transfers to one device, or from it, that are made together. Each is at its turn, or
 * directly follows another of the batch in the queue of its storage and writes other bytes. So they
 * may arrive in any order without a visible difference.
 *
 * <p>If a batch fails, each transfer is repeated alone, and fails or is retried alone. If the
 * device is lost, all fail at once. Used by one thread.
 */
public final class SmallTransferBatch implements Runnable {
  private static final int MOST = 1024;
  private static final long MOST_BYTES = 4L << 20;

  /** The most bytes of one batch, including transfers that follow others in a storage's queue. */
  private static final long MOST_BYTES_IN_ORDER = 8L << 20;

  private final SmallTransfer like;
  // In the order of their end: an operation comes after those that precede it in a queue.
  private final List<Operation> operations = new ArrayList<>();
  private final List<SmallTransfer> transfers = new ArrayList<>();
  private final List<Move> moves = new ArrayList<>();
  // Operations whose bytes do not use the link. They run after the batch, because they may need
  // memory, and the batch holds some.
  private final List<Operation> alone = new ArrayList<>();
  // The number of operations at their turn; the others directly follow them in a queue.
  private int atTurn;
  // How many of the ready operations, and of those that run alone, the batch has handled.
  private int admitted;
  private int sentAlone;
  private long bytes;
  private TransferWay way = TransferWay.STAGED_PINNED;

  // All from one queue of tasks, so from at most one list of transfers.
  private final List<Operation> ready;
  private final boolean tells;

  private SmallTransferBatch(SmallTransfer like, List<Operation> ready) {
    this.like = like;
    this.ready = ready;
    this.tells = ready.getFirst().tells();
  }

  /**
   * Takes the next task from a queue, and the tasks that can be batched with it; returns null if
   * the queue is empty. No other thread takes tasks meanwhile.
   */
  public static @Nullable Runnable next(Queue<Runnable> tasks) {
    Runnable first = tasks.peek();
    if (!(first instanceof Operation operation)) {
      return tasks.poll();
    }
    SmallTransfer like = smallTransfer(operation);
    if (like == null) {
      operation.endsTask();
      return tasks.poll();
    }
    // Allocate all objects before a task leaves the queue.
    List<Operation> ready = new ArrayList<>();
    ready.add(operation);
    SmallTransferBatch batch = new SmallTransferBatch(like, ready);
    tasks.poll();
    long bytes = like.bytes();
    while (like.isSmall() && ready.size() < MOST && tasks.peek() instanceof Operation other) {
      SmallTransfer smallTransfer = smallTransfer(other);
      if (smallTransfer == null
          || !smallTransfer.isSmall()
          || !smallTransfer.goesWith(like)
          || bytes + smallTransfer.bytes() > MOST_BYTES) {
        break;
      }
      try {
        ready.add(other);
      } catch (OutOfMemoryError e) {
        break;
      }
      tasks.poll();
      bytes += smallTransfer.bytes();
    }
    return batch;
  }

  private static @Nullable SmallTransfer smallTransfer(Operation operation) {
    return (SmallTransfer) operation.payload();
  }

  @Override
  public void run() {
    try {
      perform();
    } catch (Throwable e) {
      leave(e);
    }
  }

  /** Handles an error: operations that have begun fail, the others are handed in again. */
  private void leave(Throwable thrown) {
    for (int i = admitted; i < ready.size(); i++) {
      Operation operation = ready.get(i);
      if (Thread.currentThread().equals(operation.runner())) {
        operation.lose(thrown);
      } else {
        operation.leaveToBeHandedIn();
      }
    }
    for (int i = sentAlone; i < alone.size(); i++) {
      alone.get(i).leaveToBeHandedIn();
    }
    for (int i = 0; i < operations.size(); i++) {
      operations.get(i).lose(thrown);
    }
  }

  private void perform() {
    while (admitted < ready.size()) {
      admit(ready.get(admitted));
    }
    atTurn = operations.size();
    if (like.direction() == Direction.HOST_TO_DEVICE) {
      // Consecutive reads are at their turn together, so only writes have successors to add.
      for (int i = 0; i < atTurn; i++) {
        packSuccessors(operations.get(i));
      }
    }
    if (tells) {
      // This thread calls listeners, which no operation may wait for; other threads run the rest.
      while (sentAlone < alone.size()) {
        alone.get(sentAlone++).handIn();
      }
      alone.clear();
      sentAlone = 0;
    }
    if (operations.size() == 1) {
      if (alone.isEmpty()) {
        operations.getFirst().endsTask();
      }
      operations.getFirst().runClaimed();
    } else if (!operations.isEmpty()) {
      travel();
    }
    while (sentAlone < alone.size()) {
      alone.get(sentAlone++).run();
    }
  }

  /** Takes an operation whose turn has come. */
  private void admit(Operation operation) {
    if (operation.take()) {
      if (!operation.claim()) {
        operation.finish(operation.lost());
      } else if (!pack(operation)) {
        // The operation holds no memory until it runs: waiting ones would compete for memory.
        operation.giveBack(false);
        alone.add(operation);
      }
    }
    admitted++;
  }

  private boolean pack(Operation operation) {
    SmallTransfer smallTransfer = smallTransfer(operation);
    Move move =
        smallTransfer == null || bytes + smallTransfer.bytes() > MOST_BYTES_IN_ORDER
            ? null
            : smallTransfer.plan();
    if (smallTransfer == null || move == null) {
      return false;
    }
    bytes += smallTransfer.bytes();
    operations.add(operation);
    transfers.add(smallTransfer);
    moves.add(move);
    return true;
  }

  /** Takes the followers of an operation in its queue, as long as no byte is written twice. */
  private void packSuccessors(Operation head) {
    BatchRanges written = new BatchRanges();
    Operation last = head;
    while (operations.size() < MOST) {
      SmallTransfer before = smallTransfer(last);
      if (before == null) {
        return;
      }
      written.add(before.from(), before.to());
      Operation next =
          last.claimNext(
              payload ->
                  payload instanceof SmallTransfer smallTransfer && fits(smallTransfer, written));
      if (next == null) {
        return;
      }
      boolean packed;
      try {
        packed = pack(next);
      } catch (Throwable e) {
        next.lose(e);
        throw e;
      }
      if (!packed) {
        next.giveBack(false);
        return;
      }
      last = next;
    }
  }

  private boolean fits(SmallTransfer smallTransfer, BatchRanges written) {
    return smallTransfer.goesWith(like)
        && bytes + smallTransfer.bytes() <= MOST_BYTES_IN_ORDER
        && !written.intersects(smallTransfer.from(), smallTransfer.to());
  }

  private void travel() {
    long start = System.nanoTime();
    TransferContext context =
        new TransferContext(like.priority(), 0, true, true, TransferContext.ORDINARY.submitted());
    try {
      context.run(this::move);
    } catch (Throwable e) {
      takeApart(e);
      return;
    }
    // Each transfer counts an equal part of the time, so that the sums are right.
    long each = (System.nanoTime() - start) / operations.size();
    transfers.forEach(smallTransfer -> smallTransfer.arrived(each, way));
    if (alone.isEmpty()) {
      operations.forEach(Operation::endsTask);
    }
    endAll(null);
  }

  /** Ends all before a listener is called, because it may wait for followers of any of them. */
  private void endAll(@Nullable Throwable failure) {
    for (int i = 0; i < operations.size(); i++) {
      operations
          .get(i)
          .end(failure == null ? null : Exceptions.transfer(failure, transfers.get(i).toString()));
    }
    operations.forEach(Operation::tell);
  }

  private void move() {
    CoalescedCopy copy = like.context().link().coalesced();
    way = like.direction() == Direction.HOST_TO_DEVICE ? copy.upload(moves) : copy.download(moves);
  }

  private void takeApart(Throwable failure) {
    transfers.forEach(SmallTransfer::mayHaveArrived);
    if (RetryPolicy.kindOf(failure) == AcceleratorException.Kind.DEVICE_LOST) {
      endAll(failure);
      return;
    }
    // Followers first, because they become ready when the others end.
    operations.subList(atTurn, operations.size()).forEach(operation -> operation.giveBack(true));
    for (Operation operation : operations.subList(0, atTurn)) {
      if (tells) {
        operation.giveBack(true);
        operation.handIn();
      } else {
        operation.runClaimed();
      }
    }
  }
}
