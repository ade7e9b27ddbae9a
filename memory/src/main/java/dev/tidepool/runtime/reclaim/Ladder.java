package dev.tidepool.runtime.reclaim;

import dev.tidepool.ByteSize;
import dev.tidepool.Capability;
import dev.tidepool.MemoryLocation;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.TransferException;
import dev.tidepool.pool.PooledBlock;
import dev.tidepool.runtime.order.Headway;
import dev.tidepool.runtime.order.MultiBufferAdmission;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.PinState;
import dev.tidepool.runtime.order.SessionExecutors;
import dev.tidepool.runtime.storage.BackingBlocks;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.Spilling;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.MemoryLimitException;
import dev.tidepool.runtime.supply.Pools;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What happens when memory runs out, whoever said so, a driver, the system or the manager's limit:
 * blocks on their way back are waited for, pools are trimmed, unreachable buffers reclaimed, small
 * buffers moved together, idle device copies given up, idle buffers taken to the spill file, then
 * those that work which has not begun will want, and last what others use is waited for; after each
 * rung that gave something back the request is tried again, and only then it fails.
 *
 * <p>Bounded: each rung is climbed once, except that copies are given up and buffers spilled one by
 * one, in rounds that must each make room and are 32 at most. What a rung itself needs climbs a
 * shorter ladder, which moves nothing to the host: so the depth is two. Who climbs inside of his
 * own work waits as long as work goes on that has what the request could use and does not wait for
 * memory itself ({@link Headway}), and ten seconds at most. Holds no lock but, for work that needs
 * several buffers at once, that of {@link MultiBufferAdmission}, which nobody needs who has what he
 * needs.
 */
public final class Ladder {
  private static final long CLOSING_WAIT_NANOS = 2_000_000_000L;
  private static final int MOST_ROUNDS = 32;
  private static final long WORK_WAIT_NANOS = 10_000_000_000L;
  private static final long TAKING_WAIT_NANOS = 100_000_000L;
  private static final long SHORTEST_PAUSE_NANOS = 50_000;
  private static final long LONGEST_PAUSE_NANOS = 2_000_000;

  /** Copies that are asked for at once, since it is not known which will be idle first. */
  private static final int MOST_REQUESTS = 64;

  /** How often a request is tried again while small buffers make the room for it. */
  private static final int ATTEMPTS = 8;

  private static final long COLLECTOR_WAIT_NANOS = 100_000_000L;

  /** How long the rest of what a collection found takes to be queued after its first. */
  private static final long QUEUEING_WAIT_NANOS = 20_000_000L;

  /** A collection costs more than giving a copy up, so it comes first only once in a while. */
  private static final long COLLECTOR_REST_NANOS = 10_000_000_000L;

  private final StorageContext memory;
  private final Room room;
  private final Pools pools;
  private final Refusal refusal;
  private final Runnable reclaimUnreachable;
  private final AtomicLong lastCollection =
      new AtomicLong(System.nanoTime() - COLLECTOR_REST_NANOS);

  /**
   * A manager's.
   *
   * @param refusal says why a request fails
   * @param reclaimUnreachable closes buffers that no handle is left of
   */
  public Ladder(
      StorageContext memory, Room room, Pools pools, Refusal refusal, Runnable reclaimUnreachable) {
    this.memory = memory;
    this.room = room;
    this.pools = pools;
    this.refusal = refusal;
    this.reclaimUnreachable = reclaimUnreachable;
  }

  /**
   * The request's block, after as many rungs as it takes.
   *
   * @param onDevice whether the block is of the device's memory
   * @param inWork whether it is for work that is under way
   */
  PooledBlock climb(long bytes, boolean onDevice, boolean inWork, Supplier<PooledBlock> request) {
    try {
      return request.get();
    } catch (OutOfDeviceMemoryException refused) {
      return new Climb(bytes, onDevice, inWork, request, refused).all();
    }
  }

  /** The block of host memory that a rung needs to make room elsewhere. */
  PooledBlock climbFromRung(long bytes, Supplier<PooledBlock> request) {
    try {
      return request.get();
    } catch (OutOfDeviceMemoryException refused) {
      return new Climb(bytes, false, true, request, refused).fromRung();
    }
  }

  /** Work that was asked to give a storage's copy up, behind what uses it. */
  private record Request(Storage storage, Operation work) {}

  /** One request on its way up; for one thread. */
  private final class Climb {
    private final long bytes;
    private final boolean onDevice;
    private final boolean inWork;
    private final Supplier<PooledBlock> request;
    private final List<String> tried = new ArrayList<>();
    private OutOfDeviceMemoryException refused;
    private boolean collected;
    private long madeRoom;
    // Those that were asked for their memory in this pass, whether they had any to give.
    private final Set<BufferCore> passed = new HashSet<>();
    private boolean searchesAll = true;
    private int evicted;
    private int spilled;
    private @Nullable String diskFailure;

    Climb(
        long bytes,
        boolean onDevice,
        boolean inWork,
        Supplier<PooledBlock> request,
        OutOfDeviceMemoryException refused) {
      this.bytes = bytes;
      this.onDevice = onDevice;
      this.inWork = inWork;
      this.request = request;
      this.refused = refused;
    }

    PooledBlock all() {
      return up(
          List.of(
              this::waitForClosing,
              this::trimPools,
              this::reclaimUnreachable,
              this::joinSmallBuffers,
              this::makeRoom,
              this::makeRoomAhead,
              this::waitForWork,
              this::collectAtLast));
    }

    PooledBlock fromRung() {
      return up(List.of(this::trimPools, this::spill));
    }

    private PooledBlock up(List<Supplier<@Nullable PooledBlock>> rungs) {
      for (Supplier<@Nullable PooledBlock> rung : rungs) {
        PooledBlock block = rung.get();
        if (block != null) {
          return block;
        }
      }
      // What others gave back meanwhile, and nobody counted here.
      PooledBlock last = attempt();
      if (last != null) {
        return last;
      }
      if (evicted > 0) {
        tried.add("gave up " + evicted + " idle device copies");
      }
      if (spilled > 0) {
        tried.add("spilled " + spilled + " idle buffers");
      }
      if (diskFailure != null) {
        tried.add(diskFailure);
      }
      throw refusal.exhausted(bytes, tried, refused);
    }

    private @Nullable PooledBlock attempt() {
      try {
        return request.get();
      } catch (OutOfDeviceMemoryException stillFull) {
        refused = stillFull;
        return null;
      }
    }

    /** Whether the manager's own limit said no: then only what is the manager's helps. */
    private boolean isLimited() {
      return refused instanceof MemoryLimitException;
    }

    private long trim() {
      return isLimited() ? room.trim() : room.trimDevice();
    }

    private @Nullable PooledBlock trimPools() {
      long trimmed = trim();
      if (trimmed == 0) {
        return null;
      }
      tried.add("trimmed " + ByteSize.format(trimmed) + " from pools");
      return attempt();
    }

    private @Nullable PooledBlock joinSmallBuffers() {
      long returned = isLimited() ? room.defragment().returnedBytes() : room.defragmentDevice();
      if (returned == 0) {
        return null;
      }
      tried.add("moved small buffers together, which gave back " + ByteSize.format(returned));
      return attempt();
    }

    /**
     * Frees what is closed and waits for a thread only, then waits for what else is closing. The
     * library's own threads do not wait: it may be queued behind them.
     */
    private @Nullable PooledBlock waitForClosing() {
      List<Storage> closing = memory.releases().pending().all();
      if (closing.stream().filter(room::freeAhead).count() > 0) {
        PooledBlock block = attempt();
        if (block != null) {
          return block;
        }
      }
      // Work waits with the others, for what closes may be behind it.
      if (inWork || SessionExecutors.isWorker(Thread.currentThread())) {
        return null;
      }
      long deadline = System.nanoTime() + CLOSING_WAIT_NANOS;
      boolean freed = false;
      for (Storage storage : closing) {
        for (Operation work : storage.unfinished()) {
          freed |= work.await(deadline - System.nanoTime());
        }
      }
      if (!freed) {
        return null;
      }
      tried.add("waited for buffers that were closing");
      return attempt();
    }

    private @Nullable PooledBlock reclaimUnreachable() {
      long before = memory.counters().leaks();
      reclaimUnreachable.run();
      long now = System.nanoTime();
      long last = lastCollection.get();
      if (now - last >= COLLECTOR_REST_NANOS && lastCollection.compareAndSet(last, now)) {
        return collect(before);
      }
      return memory.counters().leaks() > before ? reclaimed(before) : null;
    }

    /** Has garbage collected that was left lying while a collection seemed too dear. */
    private @Nullable PooledBlock collectAtLast() {
      if (collected) {
        return null;
      }
      lastCollection.set(System.nanoTime());
      return collect(memory.counters().leaks());
    }

    /**
     * Has unreachable buffers noticed, by the maintenance thread or here, and tries again as long
     * as that brings blocks back.
     */
    private @Nullable PooledBlock collect(long before) {
      collected = true;
      // Unreachable, so it is queued when the collector has run, and much else with it.
      ReferenceQueue<Object> queue = new ReferenceQueue<>();
      PhantomReference<Object> sentinel = new PhantomReference<>(new Object(), queue);
      if (memory.counters().leaks() == before && !memory.registry().all().isEmpty()) {
        System.gc();
      }
      long deadline = System.nanoTime() + COLLECTOR_WAIT_NANOS;
      long seen = before;
      while (System.nanoTime() < deadline) {
        if (sentinel.equals(queue.poll())) {
          deadline = Math.min(deadline, System.nanoTime() + QUEUEING_WAIT_NANOS);
        }
        reclaimUnreachable.run();
        if (memory.counters().leaks() > seen || pools.idleBytes() > 0) {
          seen = memory.counters().leaks();
          PooledBlock block = attemptOrTrim();
          if (block != null) {
            return block;
          }
        }
        if (memory.registry().all().isEmpty()) {
          break;
        }
        LockSupport.parkNanos(1_000_000);
      }
      return seen > before ? reclaimed(before) : null;
    }

    private @Nullable PooledBlock reclaimed(long before) {
      tried.add("reclaimed " + (memory.counters().leaks() - before) + " unreachable buffers");
      return attemptOrTrim();
    }

    /** Tries first with what has just become idle, for it may be of the very size. */
    private @Nullable PooledBlock attemptOrTrim() {
      madeRoom = 0;
      PooledBlock block = attempt();
      if (block != null) {
        return block;
      }
      trim();
      return attempt();
    }

    /**
     * Gives copies up and takes buffers to the file, again while that makes room: who refuses may
     * be another then, and other threads may be quicker.
     */
    private @Nullable PooledBlock makeRoom() {
      PooledBlock block = null;
      int before = -1;
      for (int round = 0; block == null && evicted + spilled > before; round++) {
        before = round < MOST_ROUNDS ? evicted + spilled : Integer.MAX_VALUE;
        block = makeRoom(false);
        block = block != null ? block : makeRoom(true);
      }
      return block;
    }

    /**
     * Makes room by buffers that are quickly found, or by any: where few have a device copy, each
     * request would look at all others for it.
     */
    private @Nullable PooledBlock makeRoom(boolean amongAll) {
      searchesAll = amongAll;
      PooledBlock block = giveUpDeviceCopies();
      return block != null ? block : spill();
    }

    /**
     * Waits for what others use now and this request could have, as long as that work goes on and
     * does not wait for memory itself. Whoever ends first gives up what he used, before the next
     * comes to it.
     */
    private @Nullable PooledBlock waitForWork() {
      List<Request> requests = new ArrayList<>();
      try {
        if (inWork) {
          Headway.waits();
        }
        return attemptWhileHelpComes(requests);
      } finally {
        if (inWork) {
          Headway.waited();
        }
        requests.forEach(request -> request.work().cancel());
      }
    }

    private @Nullable PooledBlock attemptWhileHelpComes(List<Request> requests) {
      Headway headway = memory.headway();
      long start = System.nanoTime();
      long pause = SHORTEST_PAUSE_NANOS;
      long seen = -1;
      boolean helpComes = true;
      while (helpComes) {
        long releases = headway.releases();
        PooledBlock block = releases == seen ? null : attemptAfterRelease();
        if (block != null) {
          return block;
        }
        seen = releases;
        helpComes = helpComes(requests, seen, System.nanoTime() - start);
        if (helpComes) {
          LockSupport.parkNanos(pause);
          pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS);
        }
      }
      if (!requests.isEmpty()) {
        tried.add("waited for buffers that are in use");
      }
      return makeRoom();
    }

    /** Some work has let go of what it had, and what comes behind it may not have begun. */
    private @Nullable PooledBlock attemptAfterRelease() {
      PooledBlock block = attemptOrTrim();
      if (block != null) {
        return block;
      }
      // Who moves bytes goes on, as others see it, and will let go of what he has.
      if (inWork) {
        Headway.waited();
      }
      try {
        block = makeRoom();
        return block != null ? block : makeRoomAhead();
      } finally {
        if (inWork) {
          Headway.waits();
        }
      }
    }

    /**
     * Takes buffers away from work that was asked for and has not begun; the one that was asked for
     * last goes first, for it will be wanted last.
     */
    private @Nullable PooledBlock makeRoomAhead() {
      for (Storage storage : room.busy(isLimited()).reversed()) {
        if (goesAhead(storage)) {
          PooledBlock block = attemptAfter(storage);
          if (block != null) {
            return block;
          }
        }
      }
      return madeRoom > 0 ? attemptOrTrim() : null;
    }

    private boolean goesAhead(Storage storage) {
      if (room.freeAhead(storage)) {
        return true;
      }
      if (evictionHelps(storage) && room.evictAhead(storage)) {
        evicted++;
        return true;
      }
      if (diskFailure != null || !spillingHelps(storage)) {
        return false;
      }
      try {
        boolean gone = room.spillAhead(storage);
        spilled += gone ? 1 : 0;
        return gone;
      } catch (TransferException e) {
        diskFailure = e.getMessage();
        return false;
      }
    }

    /**
     * Whether others may soon give something up: a block that somebody has just taken belongs to no
     * buffer yet that could be asked.
     *
     * @param seen the releases before the last look at what could be taken
     */
    private boolean helpComes(List<Request> requests, long seen, long waitedNanos) {
      if (waitedNanos < TAKING_WAIT_NANOS && room.anyBlockOnItsWay()) {
        return true;
      }
      return waitedNanos < WORK_WAIT_NANOS
          && (goesOn(requests)
              || (requestRoom(requests) && goesOn(requests))
              || requests.stream().anyMatch(request -> request.work().isItsTurn())
              || (memory.headway().releases() != seen && isAnythingToTake()));
    }

    /**
     * Whether work will end that has what was asked for. If all of that waits, it may wait for
     * other work, which goes on.
     */
    private boolean goesOn(List<Request> requests) {
      boolean anyWaits = false;
      for (Request request : requests) {
        PinState.Users users = request.storage().pins().othersOfWaiting();
        if (users == PinState.Users.GOING_ON) {
          return true;
        }
        anyWaits |= users == PinState.Users.WAITING;
      }
      return anyWaits && room.anyWorkGoesOn();
    }

    /** Whether there are buffers that could make room if nobody used them. */
    private boolean isAnythingToTake() {
      return room.leastRecentlyUsed(isLimited(), true, this::couldMakeRoom) != null;
    }

    private boolean couldMakeRoom(BufferCore core) {
      return evictionHelps(core) || (core.context().spilling() != null && spillingHelps(core));
    }

    /**
     * Asks for the copies of further buffers that others use now, behind what uses them; whether
     * there are any.
     */
    private boolean requestRoom(List<Request> requests) {
      int before = requests.size();
      for (Storage storage : room.busy(isLimited())) {
        if (requests.size() == MOST_REQUESTS) {
          break;
        }
        if (storage.pins().others() != PinState.Users.NONE
            && requests.stream().noneMatch(request -> request.storage() == storage)) {
          request(storage, requests);
        }
      }
      return requests.size() > before;
    }

    private void request(Storage storage, List<Request> requests) {
      StorageContext owner = storage.context();
      Spilling spilling = owner.spilling();
      if (evictionHelps(storage)) {
        requests.add(new Request(storage, room.requestEviction(storage)));
      } else if (spilling != null && spillingHelps(storage)) {
        requests.add(new Request(storage, room.requestSpill(storage, spilling)));
      }
    }

    private @Nullable PooledBlock giveUpDeviceCopies() {
      if (!onDevice && !isLimited()) {
        return null;
      }
      passed.clear();
      BufferCore next = nextToEvict();
      while (next != null) {
        passed.add(next);
        Storage storage = next.rouse();
        if (storage != null && room.evict(storage)) {
          evicted++;
          PooledBlock block = attemptAfter(storage);
          if (block != null) {
            fetchNext();
            return block;
          }
        }
        next = nextToEvict();
      }
      return madeRoom > 0 ? attemptOrTrim() : null;
    }

    private @Nullable BufferCore nextToEvict() {
      return room.leastRecentlyUsed(
          isLimited(),
          searchesAll,
          core -> evictionHelps(core) && core.isUnasked() && !passed.contains(core));
    }

    /** A full device will be asked again, and then the next storage gives up its copy. */
    private void fetchNext() {
      BufferCore next = nextToEvict();
      Storage storage = next == null ? null : next.awake();
      if (storage != null) {
        room.fetchAhead(storage);
      }
    }

    private @Nullable PooledBlock spill() {
      passed.clear();
      BufferCore next = nextToSpill();
      while (next != null) {
        passed.add(next);
        Storage storage = next.rouse();
        try {
          if (storage != null && room.spill(storage)) {
            spilled++;
            PooledBlock block = attemptAfter(storage);
            if (block != null) {
              return block;
            }
          }
        } catch (TransferException e) {
          diskFailure = e.getMessage();
        }
        next = nextToSpill();
      }
      return madeRoom > 0 ? attemptOrTrim() : null;
    }

    private @Nullable BufferCore nextToSpill() {
      return diskFailure != null
          ? null
          : room.leastRecentlyUsed(
              isLimited(),
              searchesAll,
              core ->
                  core.context().spilling() != null
                      && spillingHelps(core)
                      && core.isSpillable()
                      && core.isUnasked()
                      && !passed.contains(core));
    }

    /**
     * Tries again if the storages that went since the last time have made a part of the room: for
     * each of many small ones it would cost too much.
     */
    private @Nullable PooledBlock attemptAfter(Storage gone) {
      madeRoom += gone.byteSize();
      return madeRoom >= bytes / ATTEMPTS ? attemptOrTrim() : null;
    }

    /** Whether a device copy that is given up makes room. */
    private boolean evictionHelps(BufferCore core) {
      Storage awake = core.awake();
      // A dormant buffer has one copy, at the place where it was allocated.
      return awake == null
          ? onDevice && !isLimited() && isOnDeviceAlone(core)
          : evictionHelps(awake);
    }

    private boolean evictionHelps(Storage storage) {
      // Under the limit a copy that moves to the host takes as much there.
      return isLimited()
          ? storage.coherence().hasTwoCopies()
          : onDevice && storage.coherence().isEvictable();
    }

    /** Whether the memory that a buffer occupies is of the kind that is short. */
    private boolean spillingHelps(BufferCore core) {
      Storage awake = core.awake();
      if (awake != null) {
        return spillingHelps(awake);
      }
      return isLimited()
          || deviceIsHost()
          || (onDevice ? core.location() == MemoryLocation.UNIFIED : !isOnDeviceAlone(core));
    }

    private boolean spillingHelps(Storage storage) {
      BackingBlocks copies = storage.coherence().copies();
      return isLimited() || deviceIsHost() || (onDevice ? copies.isShared() : !copies.hasDevice());
    }

    private boolean isOnDeviceAlone(BufferCore dormant) {
      return !deviceIsHost() && dormant.location() == MemoryLocation.DEVICE;
    }

    private boolean deviceIsHost() {
      return memory.device().info().can(Capability.SHARED_MEMORY);
    }
  }
}
