package dev.tidepool.benchmarks;

import cn.danielw.fop.ObjectFactory;
import cn.danielw.fop.PoolConfig;
import cn.danielw.fop.Poolable;
import dev.tidepool.pooling.ObjectPool;
import java.util.concurrent.TimeUnit;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPool;
import stormpot.Allocator;
import stormpot.BasePoolable;
import stormpot.Expiration;
import stormpot.Pool;
import stormpot.PoolTap;
import stormpot.Slot;
import stormpot.Timeout;

/** Pools of byte arrays, all of the same capacity. The caller provides the use of an array. */
final class ObjectPoolPeers implements AutoCloseable {
  private static final Timeout PATIENCE = new Timeout(10, TimeUnit.SECONDS);
  private static final int BYTES = 1024;

  /** The use of an array between taking and returning it. */
  interface Use {
    byte of(byte[] array);
  }

  /** Stormpot requires that an object has a reference to its slot. */
  private static final class Slotted extends BasePoolable {
    final byte[] array = create();

    Slotted(Slot slot) {
      super(slot);
    }
  }

  private final ObjectPool<byte[]> tidepool;
  private final Pool<Slotted> stormpot;
  private final Pool<Slotted> stormpotForEver;
  private final PoolTap<Slotted> stormpotForVirtual;
  private final GenericObjectPool<byte[]> commons;
  private final cn.danielw.fop.ObjectPool<byte[]> fast;

  ObjectPoolPeers(int objects) {
    tidepool =
        ObjectPool.builder(ObjectPoolPeers::create).minimum(objects).maximum(objects).build();
    stormpot = Pool.from(new Slots()).setSize(objects).build();
    stormpotForEver =
        Pool.from(new Slots()).setSize(objects).setExpiration(Expiration.never()).build();
    stormpotForVirtual = stormpot.getVirtualThreadSafeTap();
    commons = new GenericObjectPool<>(new Wrapped());
    commons.setMaxTotal(objects);
    commons.setMaxIdle(objects);
    PoolConfig config = new PoolConfig();
    config.setPartitionSize(2).setMinSize(objects / 2).setMaxSize(objects / 2);
    fast = new cn.danielw.fop.ObjectPool<>(config, new Made());
  }

  /** Creates an array without a pool. */
  static byte[] create() {
    return new byte[BYTES];
  }

  private static final class Slots implements Allocator<Slotted> {
    @Override
    public Slotted allocate(Slot slot) {
      return new Slotted(slot);
    }

    @Override
    public void deallocate(Slotted slotted) {}
  }

  private static final class Wrapped extends BasePooledObjectFactory<byte[]> {
    @Override
    public byte[] create() {
      return ObjectPoolPeers.create();
    }

    @Override
    public PooledObject<byte[]> wrap(byte[] array) {
      return new DefaultPooledObject<>(array);
    }
  }

  private static final class Made implements ObjectFactory<byte[]> {
    @Override
    public byte[] create() {
      return ObjectPoolPeers.create();
    }

    @Override
    public void destroy(byte[] array) {}

    @Override
    public boolean validate(byte[] array) {
      return true;
    }
  }

  byte tidepool(Use use) {
    byte[] array = tidepool.get();
    byte result = use.of(array);
    tidepool.put(array);
    return result;
  }

  byte tidepoolLease(Use use) {
    try (ObjectPool.Lease<byte[]> lease = tidepool.lease()) {
      return use.of(lease.object());
    }
  }

  /** Uses Stormpot with its defaults: objects expire after some minutes. */
  byte stormpot(Use use) throws InterruptedException {
    return stormpot(stormpot, use);
  }

  /** Uses Stormpot without expiry, like Tidepool by default. */
  byte stormpotForEver(Use use) throws InterruptedException {
    return stormpot(stormpotForEver, use);
  }

  /** Uses Stormpot's tap for virtual threads. */
  byte stormpotForVirtual(Use use) throws InterruptedException {
    return stormpot(stormpotForVirtual, use);
  }

  private static byte stormpot(PoolTap<Slotted> tap, Use use) throws InterruptedException {
    Slotted slotted = tap.claim(PATIENCE);
    byte result = use.of(slotted.array);
    slotted.release();
    return result;
  }

  byte commons(Use use) throws Exception {
    byte[] array = commons.borrowObject();
    byte result = use.of(array);
    commons.returnObject(array);
    return result;
  }

  byte fast(Use use) {
    try (Poolable<byte[]> array = fast.borrowObject()) {
      return use.of(array.getObject());
    }
  }

  @Override
  public void close() throws InterruptedException {
    tidepool.close();
    stormpot.shutdown();
    stormpotForEver.shutdown();
    commons.close();
    fast.shutdown();
  }
}
