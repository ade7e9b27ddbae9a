package dev.tidepool.pool.object;

import dev.tidepool.pooling.ObjectPool;
import dev.tidepool.spi.support.FieldHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** One lease of a member. It ends once, however the object is returned. */
final class ObjectLease<T> implements ObjectPool.Lease<T> {
  private static final VarHandle CLOSED =
      FieldHandle.of(MethodHandles.lookup(), "closed", boolean.class);

  private final StripedObjectPool<T> pool;
  private final PooledObject<T> member;
  private final long word;

  // A flag of its own, because the object is reset before the member's word changes. A second close
  // meanwhile must not reset the object again when another thread may already hold it.
  @SuppressWarnings("unused") // through CLOSED
  private volatile boolean closed;

  /** Creates the current lease of a member. */
  ObjectLease(StripedObjectPool<T> pool, PooledObject<T> member) {
    this.pool = pool;
    this.member = member;
    this.word = member.word();
  }

  @Override
  public T object() {
    if (!member.isOutBy(word)) {
      throw new IllegalStateException(
          "this lease has ended: its object was returned and may have another holder");
    }
    return member.object;
  }

  @Override
  public void close() {
    if (CLOSED.compareAndSet(this, false, true) && member.isOutBy(word)) {
      pool.putBack(member, word);
    }
  }
}
