package dev.tidepool.pool.object;

import dev.tidepool.pooling.ObjectPool;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** One lease of a member: it ends once, however the object came back. */
final class ObjectLease<T> implements ObjectPool.Lease<T> {
  private static final VarHandle CLOSED;

  static {
    try {
      CLOSED = MethodHandles.lookup().findVarHandle(ObjectLease.class, "closed", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final StripedObjectPool<T> pool;
  private final PooledObject<T> member;
  private final long word;

  // Not read from the member: the object is reset before its word changes. A second close meanwhile
  // must not reset it again, when another thread may hold it already.
  @SuppressWarnings("unused") // through CLOSED
  private volatile boolean closed;

  /** Creates the lease that a member is out by. */
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
