package dev.tidepool.runtime;

import dev.tidepool.ByteSize;
import dev.tidepool.Capability;
import dev.tidepool.MemoryLocation;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.TransferException;
import dev.tidepool.pool.PooledBlock;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
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
 * memory itself ({@link MemoryWaiters}), and ten seconds at most. Holds no lock but, for work that
 * needs several buffers at once, that of {@link Placing}, which nobody needs who has what he needs.
 */
final class Ladder {
  private static final long CLOSING_WAIT_NANOS = 2_000_000_000L;
  private static final int MOST_ROUNDS = 32;
  private static final long WORK_WAIT_NANOS = 10_000_000_000L;
  private static final long TAKING_WAIT_NANOS = 100_000_000L;

  /**
   * How long a thread takes at most, but for a busy processor, from the moment when it takes a
   * block until others see whose the block is. It tells nobody, which would cost each allocation.
   */
  private static final long TAKING_NANOS = 1_000_000;

  /** Copies that are asked for at once, since it is not known which will be idle first. */
  private static final int MOST_REQUESTS = 64;

  /** How often a request is tried again while small buffers make the room for it. */
  private static final int ATTEMPTS = 8;

  private static final long COLLECTOR_WAIT_MILLIS = 100;

  /** How long the rest of what a collection found takes to be queued after its first. */
  private static final long QUEUEING_WAIT_NANOS = 20_000_000L;

  /** A collection costs more than giving a copy up, so it comes first only once in a while. */
  private static final long COLLECTOR_REST_NANOS = 10_000_000_000L;

  private final StorageContext memory;
  private final Room room;
  private final Pools pools;
  private final Refusal refusal;
  private final LongConsumer leaks;
  private final AtomicLong lastCollection =
      new AtomicLong(System.nanoTime() - COLLECTOR_REST_NANOS);

  /**
   * A manager's.
   *
   * @param refusal says why a request fails
   * @param leaks closes buffers that no handle is left of; is told for how many nanoseconds it may
   *     wait for the collector to find some
   */
  Ladder(StorageContext memory, Room room, Pools pools, Refusal refusal, LongConsumer leaks) {
    this.memory = memory;
    this.room = room;
    this.pools = pools;
    this.refusal = refusal;
    this.leaks = leaks;
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
  private record Request(Storage storage, Work work) {}

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
    private final Set<Tenancy> passed = new HashSet<>();
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
      return refused instanceof LimitReached;
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
      if (inWork || Workers.isWorker(Thread.currentThread())) {
        return null;
      }
      long deadline = System.nanoTime() + CLOSING_WAIT_NANOS;
      boolean freed = false;
      for (Storage storage : closing) {
        for (Work work : storage.unfinished()) {
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
      leaks.accept(0);
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
      if (memory.counters().live() == 0) {
        return null;
      }
      // Unreachable, so it is queued when the collector has run, and much else with it.
      ReferenceQueue<Object> queue = new ReferenceQueue<>();
      PhantomReference<Object> sentinel = new PhantomReference<>(new Object(), queue);
      if (memory.counters().leaks() == before) {
        System.gc();
        await(queue);
      }
      Reference.reachabilityFence(sentinel);
      long deadline = System.nanoTime() + QUEUEING_WAIT_NANOS;
      long seen = before;
      long left = 0;
      do {
        leaks.accept(left);
        if (memory.counters().leaks() > seen || pools.idleBytes() > 0) {
          seen = memory.counters().leaks();
          PooledBlock block = attemptOrTrim();
          if (block != null) {
            return block;
          }
        }
        left = deadline - System.nanoTime();
      } while (left > 0);
      return seen > before ? reclaimed(before) : null;
    }

    /** Waits for the collector's answer. An interrupt stays set. */
    private void await(ReferenceQueue<Object> queue) {
      try {
        var _ = queue.remove(COLLECTOR_WAIT_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
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
      try (MemoryWaiters.Waiter waiter = memory.waiters().enter(memory.device())) {
        // Only now: what is released from here on is told to the waiter.
        PooledBlock block = searchAgain();
        if (block != null) {
          return block;
        }
        return stopped(() -> attemptWhileHelpComes(waiter, requests));
      } finally {
        requests.forEach(request -> request.work().cancel());
      }
    }

    private @Nullable PooledBlock searchAgain() {
      PooledBlock block = attemptOrTrim();
      block = block != null ? block : makeRoom();
      return block != null ? block : makeRoomAhead();
    }

    private @Nullable PooledBlock attemptWhileHelpComes(
        MemoryWaiters.Waiter waiter, List<Request> requests) {
      long start = System.nanoTime();
      boolean goesOn = true;
      while (goesOn) {
        long waited = System.nanoTime() - start;
        boolean helpComes = waited < WORK_WAIT_NANOS && helpComes(requests);
        boolean blockComes = !helpComes && waited < TAKING_WAIT_NANOS && room.anyBlockOnItsWay();
        MemoryWaiters.Changes changes =
            waiter.await(helpComes ? WORK_WAIT_NANOS - waited : blockComes ? TAKING_NANOS : 0);
        PooledBlock block =
            changes.missed() || (blockComes && !changes.any())
                ? going(this::searchAgain)
                : changes.any() ? attemptWith(changes.released()) : null;
        if (block != null) {
          return block;
        }
        goesOn =
            blockComes
                || (helpComes && changes.any())
                || (waited < WORK_WAIT_NANOS && changes.anyFreed() && isAnythingToTake());
      }
      if (!requests.isEmpty()) {
        tried.add("waited for buffers that are in use");
      }
      return going(this::makeRoom);
    }

    /** Work has let go of these storages, and what comes behind it may not have begun. */
    private @Nullable PooledBlock attemptWith(List<Use> released) {
      PooledBlock block = attemptOrTrim();
      if (block != null || released.isEmpty()) {
        return block;
      }
      return going(
          () -> {
            for (Use use : released) {
              if (use.storage() instanceof Storage storage
                  && mayServe(storage.memory())
                  && goesAhead(storage)) {
                PooledBlock made = attemptAfter(storage);
                if (made != null) {
                  return made;
                }
              }
            }
            return madeRoom > 0 ? attemptOrTrim() : null;
          });
    }

    /** Whether memory of a manager is of use to this request. */
    private boolean mayServe(ManagerContext owner) {
      return owner == memory || (!isLimited() && owner.device().equals(memory.device()));
    }

    /** Does something while work that this request is for waits, as others see it. */
    private @Nullable PooledBlock stopped(Supplier<@Nullable PooledBlock> wait) {
      if (!inWork) {
        return wait.get();
      }
      memory.waiters().stops();
      try {
        return wait.get();
      } finally {
        memory.waiters().goesOn();
      }
    }

    /**
     * Does something while work that this request is for goes on, as others see it: who moves bytes
     * will let go of what he has.
     */
    private @Nullable PooledBlock going(Supplier<@Nullable PooledBlock> move) {
      if (!inWork) {
        return move.get();
      }
      memory.waiters().goesOn();
      try {
        return move.get();
      } finally {
        memory.waiters().stops();
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

    /** Whether work will end that has what was asked for, or the copies of further buffers. */
    private boolean helpComes(List<Request> requests) {
      return goesOn(requests)
          || (requestRoom(requests) && goesOn(requests))
          || requests.stream().anyMatch(request -> request.work().isItsTurn());
    }

    /**
     * Whether work will end that has what was asked for. If all of that waits, it may wait for
     * other work, which goes on.
     */
    private boolean goesOn(List<Request> requests) {
      boolean anyWaits = false;
      for (Request request : requests) {
        Occupancy.Users users = request.storage().occupancy().others();
        if (users == Occupancy.Users.GOING_ON) {
          return true;
        }
        anyWaits |= users == Occupancy.Users.WAITING;
      }
      return anyWaits && room.anyWorkGoesOn();
    }

    /** Whether there are buffers that could make room if nobody used them. */
    private boolean isAnythingToTake() {
      return room.leastRecentlyUsed(isLimited(), true, this::couldMakeRoom) != null;
    }

    private boolean couldMakeRoom(Tenancy tenancy) {
      return evictionHelps(tenancy)
          || (tenancy.memory().spilling() != null && spillingHelps(tenancy));
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
        if (storage.occupancy().others() != Occupancy.Users.NONE
            && requests.stream().noneMatch(request -> request.storage() == storage)) {
          request(storage, requests);
        }
      }
      return requests.size() > before;
    }

    private void request(Storage storage, List<Request> requests) {
      StorageContext owner = storage.memory();
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
      Tenancy next = nextToEvict();
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

    private @Nullable Tenancy nextToEvict() {
      return room.leastRecentlyUsed(
          isLimited(),
          searchesAll,
          tenancy -> evictionHelps(tenancy) && tenancy.isUnasked() && !passed.contains(tenancy));
    }

    /** A full device will be asked again, and then the next storage gives up its copy. */
    private void fetchNext() {
      Tenancy next = nextToEvict();
      Storage storage = next == null ? null : next.awake();
      if (storage != null) {
        room.fetchAhead(storage);
      }
    }

    private @Nullable PooledBlock spill() {
      passed.clear();
      Tenancy next = nextToSpill();
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

    private @Nullable Tenancy nextToSpill() {
      return diskFailure != null
          ? null
          : room.leastRecentlyUsed(
              isLimited(),
              searchesAll,
              tenancy ->
                  tenancy.memory().spilling() != null
                      && spillingHelps(tenancy)
                      && tenancy.isSpillable()
                      && tenancy.isUnasked()
                      && !passed.contains(tenancy));
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
    private boolean evictionHelps(Tenancy tenancy) {
      Storage awake = tenancy.awake();
      // A dormant buffer has one copy, at the place where it was allocated.
      return awake == null
          ? onDevice && !isLimited() && isOnDeviceAlone(tenancy)
          : evictionHelps(awake);
    }

    private boolean evictionHelps(Storage storage) {
      // Under the limit a copy that moves to the host takes as much there.
      return isLimited()
          ? storage.residency().hasTwoCopies()
          : onDevice && storage.residency().isEvictable();
    }

    /** Whether the memory that a buffer occupies is of the kind that is short. */
    private boolean spillingHelps(Tenancy tenancy) {
      Storage awake = tenancy.awake();
      if (awake != null) {
        return spillingHelps(awake);
      }
      return isLimited()
          || deviceIsHost()
          || (onDevice ? tenancy.location() == MemoryLocation.UNIFIED : !isOnDeviceAlone(tenancy));
    }

    private boolean spillingHelps(Storage storage) {
      Copies copies = storage.residency().copies();
      return isLimited() || deviceIsHost() || (onDevice ? copies.isShared() : !copies.hasDevice());
    }

    private boolean isOnDeviceAlone(Tenancy dormant) {
      return !deviceIsHost() && dormant.location() == MemoryLocation.DEVICE;
    }

    private boolean deviceIsHost() {
      return memory.device().info().can(Capability.SHARED_MEMORY);
    }
  }
}
