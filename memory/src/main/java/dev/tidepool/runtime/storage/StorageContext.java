package dev.tidepool.runtime.storage;

import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.runtime.context.DeviceContext;
import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.metering.AllocationCounters;
import dev.tidepool.runtime.metering.AllocationLedger;
import dev.tidepool.runtime.metering.DiagnosticSink;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.OrderedOperation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.supply.MemoryPools;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What the storages of one manager share, besides what all that works for it does: the registry of
 * live buffers, how their memory goes back and is overwritten, the spill file, and where further
 * blocks come from.
 *
 * <p>Complete after {@link #blocksFrom}, which the manager calls before the first buffer.
 */
public final class StorageContext extends ManagerContext {
  private final AllocationCounters counters;
  private final BufferRegistry registry;
  private final Guards guards;
  private final LostResults lostResults;
  private final Scrubber scrubber;
  private final BufferReleaser releaser;
  private final PendingReleases<Storage> pendingReleases = new PendingReleases<>();
  private final PeerPaths peers;
  private final @Nullable SpillFile spilling;
  private @Nullable BlockSource blocks;

  /**
   * Creates it for a new manager.
   *
   * @param peers the ways to other devices of the session
   * @throws dev.tidepool.TransferException if the spill directory cannot be used
   */
  public StorageContext(
      UnifiedMemoryManager manager,
      DeviceContext shared,
      MemoryOptions options,
      Supplier<DeviceLink> link,
      PeerPaths peers,
      MemoryPools pools,
      AllocationCounters counters,
      AllocationLedger ledger,
      DiagnosticSink reports) {
    super(manager, shared, options, link);
    this.peers = peers;
    this.counters = counters;
    this.registry = new BufferRegistry(this, pools);
    this.guards = new Guards(this, reports);
    this.lostResults = new LostResults(this, counters, reports);
    this.scrubber = new Scrubber(this);
    this.releaser = new BufferReleaser(this, ledger, counters);
    // A file, which would stay open if anything of the above refused its options.
    this.spilling = options.spillDirectory().map(SpillFile::open).orElse(null);
  }

  /** Sets where further blocks come from; called once, before the first buffer. */
  public void blocksFrom(BlockSource source) {
    blocks = source;
  }

  /** Where further blocks come from. */
  public BlockSource blocks() {
    return Objects.requireNonNull(blocks, "told before the first buffer");
  }

  public AllocationCounters counters() {
    return counters;
  }

  /** Returns the buffers that have memory. */
  public BufferRegistry registry() {
    return registry;
  }

  /** Returns the storages of the buffers that were used. */
  public List<Storage> storages() {
    return registry.storages();
  }

  Guards guards() {
    return guards;
  }

  /** Where results that could not be brought back are told of. */
  LostResults lostResults() {
    return lostResults;
  }

  /** Returns what overwrites released memory. */
  public Scrubber scrubber() {
    return scrubber;
  }

  /** Returns what gives the memory of dormant buffers back. */
  public BufferReleaser releaser() {
    return releaser;
  }

  /** Returns the storages whose memory is about to be given back. */
  public PendingReleases<Storage> pendingReleases() {
    return pendingReleases;
  }

  /** Returns the ways from device to device. */
  public PeerPaths peers() {
    return peers;
  }

  /** Where idle buffers go when memory is short; null without a spill directory. */
  public @Nullable SpillFile spilling() {
    return spilling;
  }

  /**
   * Creates an operation that moves bytes: transfer threads run it, and again as the options say.
   */
  public Operation transfer(List<ResourceAccess> uses, Runnable body) {
    return Operation.of(uses, transferThreads(), body).retrying(retries());
  }

  /** Waits for what is under way on buffers, except on those that are lent. */
  public void awaitWork() {
    for (Storage storage : storages()) {
      if (!storage.holds().isLent()) {
        storage.lifetime().unfinished().forEach(OrderedOperation::await);
      }
    }
  }
}
