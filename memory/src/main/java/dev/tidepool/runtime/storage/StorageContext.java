package dev.tidepool.runtime.storage;

import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.runtime.context.DeviceContext;
import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.metering.AllocationCounters;
import dev.tidepool.runtime.metering.AllocationLedger;
import dev.tidepool.runtime.metering.DiagnosticSink;
import dev.tidepool.runtime.order.KernelBody;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.OrderedOperation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.supply.MemoryPools;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What the storages of one manager share: the registry of live buffers, the counts and reports of
 * allocations, the objects that release and overwrite their memory, the spill file, and the source
 * of further blocks.
 *
 * <p>Complete after {@link #blocksFrom}, which the manager calls before the first buffer.
 */
public final class StorageContext extends ManagerContext {
  private final AllocationCounters counters = new AllocationCounters();
  private final AllocationLedger ledger;
  private final DiagnosticSink reports;
  private final BufferRegistry registry;
  private final Guards guards;
  private final LostResults lostResults;
  private final Scrubber scrubber;
  private final DormantRelease dormantRelease;
  private final PendingReleases<Storage> pendingReleases = new PendingReleases<>();
  private final PeerPaths peers;
  private final @Nullable SpillFile spilling;
  private @Nullable BlockSource blocks;

  /**
   * Creates the context of a new manager.
   *
   * @param peers the paths to other devices of the session
   * @throws dev.tidepool.TransferException if the spill directory cannot be used
   */
  public StorageContext(
      UnifiedMemoryManager manager,
      DeviceContext shared,
      MemoryOptions options,
      Supplier<DeviceLink> link,
      PeerPaths peers,
      MemoryPools pools) {
    super(manager, shared, options, link);
    this.peers = peers;
    this.ledger = new AllocationLedger(options, counters);
    this.reports = new DiagnosticSink(options.reportListener());
    this.registry = new BufferRegistry(this, pools);
    this.guards = new Guards(this, reports);
    this.lostResults = new LostResults(this, counters, reports);
    this.scrubber = new Scrubber(this);
    this.dormantRelease = new DormantRelease(this, ledger, counters);
    // Last: the file would stay open if a constructor above threw.
    this.spilling = options.spillDirectory().map(SpillFile::open).orElse(null);
  }

  /** Sets the source of further blocks; called once, before the first buffer. */
  public void blocksFrom(BlockSource source) {
    blocks = source;
  }

  /** Returns the source of further blocks. */
  public BlockSource blocks() {
    return Objects.requireNonNull(blocks, "told before the first buffer");
  }

  public AllocationCounters counters() {
    return counters;
  }

  public AllocationLedger ledger() {
    return ledger;
  }

  /** Returns the log and the listener that reports go to. */
  public DiagnosticSink reports() {
    return reports;
  }

  /** Returns the buffers that have memory. */
  public BufferRegistry registry() {
    return registry;
  }

  /** Returns the storages of the buffers that have one. */
  public List<Storage> storages() {
    return registry.all().stream().map(BufferCore::storageIfAny).filter(Objects::nonNull).toList();
  }

  Guards guards() {
    return guards;
  }

  /** Returns the object that reports results that could not be brought back. */
  LostResults lostResults() {
    return lostResults;
  }

  /** Returns the object that overwrites released memory. */
  public Scrubber scrubber() {
    return scrubber;
  }

  /** Returns the object that frees the memory of dormant buffers. */
  public DormantRelease dormantRelease() {
    return dormantRelease;
  }

  /** Returns the closed storages whose memory is not freed yet. */
  public PendingReleases<Storage> pendingReleases() {
    return pendingReleases;
  }

  /** Returns the paths between devices. */
  public PeerPaths peers() {
    return peers;
  }

  /** Returns the spill file; null without a spill directory. */
  public @Nullable SpillFile spilling() {
    return spilling;
  }

  /** Creates a transfer, which transfer threads run, and repeat as the options say. */
  public Operation transfer(List<ResourceAccess> uses, Runnable body) {
    return Operation.of(uses, transferThreads(), body).retrying(retries());
  }

  /**
   * Waits for the unfinished operations on all buffers, except lent ones, and until the memory of
   * closed buffers is freed.
   */
  public void awaitWork() {
    storages().forEach(StorageContext::awaitUnlessLent);
    // The registry does not find a block that a driver is freeing.
    pendingReleases.unfinished().forEach(StorageContext::awaitUnlessLent);
  }

  /**
   * Checks that the calling thread may wait for all work of the manager.
   *
   * @param what the call that waits, for the message
   * @throws IllegalStateException if the thread runs the body of a kernel that must end first
   */
  public void checkMayAwaitWork(String what) {
    KernelBody.checkMayAwaitAll(
        this,
        () -> storages().stream().flatMap(storage -> storage.lifetime().unfinished().stream()),
        what);
  }

  /**
   * Copies the newest bytes back to memory that outlives its buffer. Waits also for buffers that
   * are closed meanwhile.
   */
  public void writeBack() {
    RuntimeException failure = null;
    for (Storage storage : storages()) {
      try {
        if (storage.isOpen() && !storage.holds().isLent()) {
          storage.lifetime().writeBackIfOpen();
        }
      } catch (RuntimeException e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    awaitWork();
    if (failure != null) {
      throw failure;
    }
  }

  private static void awaitUnlessLent(Storage storage) {
    if (!storage.holds().isLent()) {
      storage.lifetime().unfinished().forEach(OrderedOperation::await);
    }
  }
}
