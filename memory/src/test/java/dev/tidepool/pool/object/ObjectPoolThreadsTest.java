package dev.tidepool.pool.object;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.tidepool.pool.Threads;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.pooling.ObjectPool;
import dev.tidepool.pooling.ObjectPoolStatistics;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ObjectPoolThreadsTest {
  private static final int THREADS = 8;
  private static final int MORE_THAN_A_STRIPE = 20;

  /** An object that counts its holders. */
  private static final class Held {
    final AtomicInteger holders = new AtomicInteger();
    final AtomicInteger destructions = new AtomicInteger();

    void hold() {
      if (holders.incrementAndGet() != 1 || destructions.get() != 0) {
        throw new AssertionError("an object has two holders, or one after its end");
      }
    }

    void letGo() {
      holders.decrementAndGet();
    }

    void destroy() {
      if (destructions.incrementAndGet() != 1 || holders.get() != 0) {
        throw new AssertionError("an object was destroyed twice, or while it was held");
      }
    }
  }

  private final AtomicLong live = new AtomicLong();

  private ObjectPool.Builder<Held> builder() {
    return ObjectPool.builder(
            () -> {
              live.incrementAndGet();
              return new Held();
            })
        .destroy(
            held -> {
              held.destroy();
              live.decrementAndGet();
            })
        .maintenanceInterval(Duration.ZERO);
  }

  /** From a pool that lets go all the time to one that never does. */
  @ParameterizedTest
  @CsvSource({"1, LRU", "10, LRU", "10, LFU", "40, FIFO", "1000, LRU"})
  void anObjectNeverHasTwoHoldersAndTheFiguresAddUp(int maximum, EvictionPolicy policy)
      throws Exception {
    AtomicInteger asked = new AtomicInteger();
    AtomicInteger resets = new AtomicInteger();
    ObjectPool<Held> pool =
        builder()
            .maximum(maximum)
            .eviction(policy)
            .idleTimeout(Duration.ofNanos(1))
            .validate(held -> asked.incrementAndGet() % 100 != 0)
            .reset(
                held -> {
                  if (resets.incrementAndGet() % 5000 == 0) {
                    throw new IllegalStateException("on purpose");
                  }
                })
            .build();
    Queue<Held> handedOver = new ConcurrentLinkedQueue<>();
    AtomicLong gets = new AtomicLong();
    AtomicLong refused = new AtomicLong();
    AtomicLong discards = new AtomicLong();
    Threads.run(
        THREADS,
        (thread, random) -> {
          ArrayDeque<Held> held = new ArrayDeque<>();
          for (int step = 0; step < 10_000; step++) {
            int choice = random.nextInt(100);
            if (choice < 45) {
              Held object = pool.get();
              object.hold();
              gets.incrementAndGet();
              held.add(object);
            } else if (choice < 50) {
              try (ObjectPool.Lease<Held> lease = pool.lease()) {
                lease.object().hold();
                gets.incrementAndGet();
                Thread.yield();
                lease.object().letGo();
              }
            } else if (choice < 85) {
              Held object = held.poll();
              if (object != null) {
                object.letGo();
                pool.put(object);
              }
            } else if (choice < 92) {
              Held object = held.poll();
              if (object != null) {
                handedOver.add(object);
              }
            } else if (choice < 97) {
              Held object = handedOver.poll();
              if (object != null) {
                held.add(object);
              }
            } else if (choice < 98) {
              Held object = held.poll();
              if (object != null) {
                object.letGo();
                pool.discard(object);
                discards.incrementAndGet();
              }
            } else if (step % 16 == 0) {
              pool.maintain();
            } else {
              try {
                pool.put(new Held());
              } catch (IllegalArgumentException e) {
                refused.incrementAndGet();
              }
            }
          }
          handedOver.addAll(held);
        });
    ObjectPoolStatistics busy = pool.statistics();
    assertThat(refused).hasPositiveValue();
    assertThat(busy.gets()).isEqualTo(gets.get());
    assertThat(busy.leased()).isEqualTo(handedOver.size());
    assertThat(busy.idle()).isEqualTo(live.get() - handedOver.size()).isLessThanOrEqualTo(maximum);
    assertThat(busy.created()).isEqualTo(busy.destroyed() + busy.idle() + busy.leased());
    assertThat(busy.gets() - busy.hits()).isEqualTo(busy.created());
    assertThat(busy.discarded()).isEqualTo(discards.get());
    assertThat(busy.invalid()).isPositive();
    handedOver.forEach(
        held -> {
          held.letGo();
          pool.put(held);
        });
    pool.close();
    assertThat(live).hasValue(0);
    assertThat(pool.statistics())
        .returns(0L, ObjectPoolStatistics::idle)
        .returns(0L, ObjectPoolStatistics::leased)
        .returns(busy.created(), ObjectPoolStatistics::destroyed);
  }

  @Test
  void ofManyWhoReturnTheSameObjectOneSucceeds() throws Exception {
    ObjectPool<Held> pool = builder().build();
    for (int round = 0; round < 500; round++) {
      Held object = pool.get();
      CountDownLatch start = new CountDownLatch(1);
      AtomicInteger accepted = new AtomicInteger();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        threads.add(
            Thread.ofVirtual()
                .start(
                    () -> {
                      try {
                        start.await();
                        pool.put(object);
                        accepted.incrementAndGet();
                      } catch (IllegalStateException e) {
                        // Returned already.
                      } catch (InterruptedException e) {
                        throw new AssertionError(e);
                      }
                    }));
      }
      start.countDown();
      for (Thread thread : threads) {
        thread.join();
      }
      assertThat(accepted).hasValue(1);
    }
    assertThat(pool.statistics())
        .returns(1L, ObjectPoolStatistics::created)
        .returns(1L, ObjectPoolStatistics::idle);
  }

  /** The first put is in the middle of its reset while the second one, and others, are made. */
  @Test
  void aPutThatLostLeavesTheOrderOfIdleObjectsAsItIs() {
    for (int late = 0; late < MORE_THAN_A_STRIPE; late++) {
      List<Held> held = new ArrayList<>();
      AtomicReference<Held> twice = new AtomicReference<>();
      AtomicReference<ObjectPool<Held>> pool = new AtomicReference<>();
      pool.set(
          builder()
              .reset(
                  object -> {
                    if (twice.compareAndSet(object, null)) {
                      held.forEach(pool.get()::put);
                    }
                  })
              .build());
      for (int i = 0; i < MORE_THAN_A_STRIPE; i++) {
        held.add(pool.get().get());
      }
      Held object = held.get(late);
      twice.set(object);
      assertThatIllegalStateException().isThrownBy(() -> pool.get().put(object));
      pool.get().close();
      assertThat(live).hasValue(0);
    }
  }

  /** The first close is in the middle of its reset when the second one comes. */
  @Test
  void aLeaseThatTwoThreadsCloseResetsItsObjectOnce() {
    AtomicInteger resets = new AtomicInteger();
    AtomicReference<ObjectPool.Lease<Held>> lease = new AtomicReference<>();
    ObjectPool<Held> pool =
        builder()
            .reset(
                _ -> {
                  if (resets.incrementAndGet() == 1) {
                    CompletableFuture.runAsync(() -> lease.get().close()).join();
                  }
                })
            .build();
    lease.set(pool.lease());
    lease.get().close();
    assertThat(resets).hasValue(1);
    assertThat(pool.statistics())
        .returns(0L, ObjectPoolStatistics::leased)
        .returns(1L, ObjectPoolStatistics::idle);
  }

  @Test
  void nothingIsLostWhenThePoolClosesUnderItsUsers() throws Exception {
    for (int round = 0; round < 50; round++) {
      ObjectPool<Held> pool = builder().maximum(round % 2 == 0 ? 3 : 100).build();
      Threads.run(
          THREADS,
          (thread, random) -> {
            if (thread == 0) {
              Thread.yield();
              pool.close();
              return;
            }
            try {
              while (true) {
                Held a = pool.get();
                Held b = pool.get();
                pool.put(a);
                pool.put(b);
              }
            } catch (IllegalStateException e) {
              assertThat(e).hasMessageContaining("closed");
            }
          });
      assertThat(pool.statistics()).returns(0L, ObjectPoolStatistics::idle);
      // The get between whose two closing came keeps its object.
      assertThat(live.get()).isEqualTo(pool.statistics().leased());
      live.set(0);
    }
  }

  /** More holders than the pool keeps, each of which lets others run while it holds. */
  @Test
  void aHundredVirtualThreadsShareTenObjects() throws Exception {
    ObjectPool<Held> pool = builder().maximum(10).build();
    List<Thread> threads = new ArrayList<>();
    AtomicInteger finished = new AtomicInteger();
    for (int t = 0; t < 100; t++) {
      threads.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    for (int i = 0; i < 1_000; i++) {
                      Held object = pool.get();
                      object.hold();
                      Thread.yield();
                      object.letGo();
                      pool.put(object);
                    }
                    finished.incrementAndGet();
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(finished).hasValue(100);
    assertThat(pool.statistics())
        .returns(100_000L, ObjectPoolStatistics::gets)
        .returns(0L, ObjectPoolStatistics::leased);
    assertThat(pool.statistics().idle()).isBetween(1L, 10L);
  }
}
