package dev.tidepool.pool;

import dev.tidepool.ObjectPool;

/** One lease of a member: it ends once, however the object came back. */
final class ObjectLease<T> implements ObjectPool.Lease<T> {
  private final StripedObjectPool<T> pool;
  private final Member<T> member;
  private final long word;

  /** The lease that a member is out by. */
  ObjectLease(StripedObjectPool<T> pool, Member<T> member) {
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
    if (member.isOutBy(word)) {
      pool.putBack(member, word);
    }
  }
}
