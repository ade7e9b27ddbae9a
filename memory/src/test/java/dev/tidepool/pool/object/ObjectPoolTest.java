package dev.tidepool.pool.object;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.awaitility.Awaitility.await;

import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.pooling.ObjectPool;
import dev.tidepool.pooling.ObjectPoolStatistics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ObjectPoolTest {
  /** Something that is made by number, and remembers what was done to it. */
  private static final class Thing {
    final int number;
    int resets;
    int destructions;
    long size;
    boolean valid = true;

    Thing(int number) {
      this.number = number;
    }
  }

  private final List<Thing> made = new ArrayList<>();

  private Thing make() {
    Thing thing = new Thing(made.size());
    made.add(thing);
    return thing;
  }

  /** Without a thread that maintains it, unless a test asks for one. */
  private ObjectPool.Builder<Thing> builder() {
    return ObjectPool.builder(this::make)
        .reset(thing -> thing.resets++)
        .validate(thing -> thing.valid)
        .destroy(thing -> thing.destructions++)
        .maintenanceInterval(Duration.ZERO);
  }

  private static List<Thing> get(ObjectPool<Thing> pool, int count) {
    return IntStream.range(0, count).mapToObj(i -> pool.get()).toList();
  }

  private List<Integer> alive() {
    return made.stream().filter(thing -> thing.destructions == 0).map(t -> t.number).toList();
  }

  @Test
  void anObjectThatCameBackIsHandedOutAgainAfterItsReset() {
    ObjectPool<Thing> pool = builder().build();
    Thing first = pool.get();
    pool.put(first);
    assertThat(first.resets).isEqualTo(1);
    assertThat(pool.get()).isSameAs(first);
    assertThat(pool.get()).isNotSameAs(first);
    assertThat(pool.statistics())
        .isEqualTo(new ObjectPoolStatistics(3, 1, 2, 0, 0, 0, 0, 0, 0, 2))
        .returns(1 / 3.0, ObjectPoolStatistics::hitRate)
        .returns(1 - 2 / 3.0, ObjectPoolStatistics::allocationReduction);
  }

  @Test
  void aLeaseReturnsItsObjectOnce() {
    ObjectPool<Thing> pool = builder().build();
    Thing thing;
    ObjectPool.Lease<Thing> stale;
    try (ObjectPool.Lease<Thing> lease = pool.lease()) {
      thing = lease.object();
      stale = lease;
    }
    try (ObjectPool.Lease<Thing> next = pool.lease()) {
      assertThat(next.object()).isSameAs(thing);
      stale.close();
      assertThat(next.object()).isSameAs(thing);
      assertThat(pool.statistics().leased()).isEqualTo(1);
      assertThatIllegalStateException()
          .isThrownBy(stale::object)
          .withMessageContaining("lease has ended");
    }
    assertThat(thing.resets).isEqualTo(2);
    assertThat(pool.statistics().idle()).isEqualTo(1);
  }

  @Test
  void aLeaseEndsWithABareReturnOfItsObject() {
    ObjectPool<Thing> pool = builder().build();
    ObjectPool.Lease<Thing> lease = pool.lease();
    pool.put(lease.object());
    lease.close();
    assertThatIllegalStateException().isThrownBy(lease::object);
    assertThat(pool.statistics().idle()).isEqualTo(1);
  }

  @Test
  void aSecondReturnIsRefusedAndChangesNothing() {
    ObjectPool<Thing> pool = builder().build();
    Thing thing = pool.get();
    pool.put(thing);
    ObjectPoolStatistics before = pool.statistics();
    assertThatIllegalStateException()
        .isThrownBy(() -> pool.put(thing))
        .withMessageContaining("Thing@")
        .withMessageContaining("returned already");
    assertThatIllegalStateException().isThrownBy(() -> pool.discard(thing));
    assertThat(thing.resets).isEqualTo(1);
    assertThat(thing.destructions).isZero();
    assertThat(pool.statistics()).isEqualTo(before);
    assertThat(new HashSet<>(get(pool, 3))).hasSize(3);
  }

  @Test
  void aStrangeObjectIsRefusedAndLeftAlone() {
    ObjectPool<Thing> pool = builder().build();
    ObjectPool<Thing> other = builder().build();
    Thing strange = other.get();
    pool.put(pool.get());
    ObjectPoolStatistics before = pool.statistics();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> pool.put(strange))
        .withMessageContaining("not of this pool");
    assertThatIllegalArgumentException().isThrownBy(() -> pool.discard(strange));
    assertThatNullPointerException().isThrownBy(() -> pool.put(null));
    assertThat(strange.resets).isZero();
    assertThat(strange.destructions).isZero();
    assertThat(pool.statistics()).isEqualTo(before);
    other.put(strange);
  }

  @Test
  void anObjectThatWasDestroyedIsStrange() {
    ObjectPool<Thing> pool = builder().build();
    Thing thing = pool.get();
    pool.discard(thing);
    assertThat(thing.destructions).isEqualTo(1);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> pool.put(thing))
        .withMessageContaining("or the pool destroyed it");
    assertThat(pool.statistics())
        .returns(1L, ObjectPoolStatistics::discarded)
        .returns(1L, ObjectPoolStatistics::destroyed)
        .returns(0L, ObjectPoolStatistics::leased);
  }

  @Test
  void equalObjectsAreToldApart() {
    ObjectPool<List<Integer>> pool =
        ObjectPool.<List<Integer>>builder(ArrayList::new)
            .maintenanceInterval(Duration.ZERO)
            .build();
    List<Integer> a = pool.get();
    List<Integer> b = pool.get();
    pool.put(a);
    assertThatIllegalStateException().isThrownBy(() -> pool.put(a));
    pool.put(b);
    assertThat(pool.statistics().idle()).isEqualTo(2);
  }

  @Test
  void moreMayBeOutThanAreKept() {
    ObjectPool<Thing> pool = builder().maximum(3).build();
    List<Thing> out = get(pool, 10);
    out.forEach(pool::put);
    assertThat(pool.statistics())
        .returns(3L, ObjectPoolStatistics::idle)
        .returns(7L, ObjectPoolStatistics::evicted)
        .returns(0L, ObjectPoolStatistics::leased);
    assertThat(alive()).hasSize(3);
  }

  /** While ten are out and the pool keeps three, each return still serves the next get. */
  @Test
  void thePlaceOfAnObjectThatIsOutServesAnother() {
    ObjectPool<Thing> pool = builder().maximum(3).build();
    List<Thing> out = new ArrayList<>(get(pool, 10));
    for (int i = 0; i < 100; i++) {
      pool.put(out.removeFirst());
      out.add(pool.get());
    }
    assertThat(pool.statistics())
        .returns(10L, ObjectPoolStatistics::created)
        .returns(100L, ObjectPoolStatistics::hits);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 5, 9, 40, 1000})
  void exactlyTheMaximumIsKept(int maximum) {
    ObjectPool<Thing> pool = builder().maximum(maximum).build();
    get(pool, maximum + 7).forEach(pool::put);
    assertThat(pool.statistics().idle()).isEqualTo(maximum);
    assertThat(new HashSet<>(get(pool, maximum))).hasSize(maximum);
    assertThat(pool.statistics().hits()).isEqualTo(maximum);
  }

  @Test
  void aMaximumOfNoneKeepsNothing() {
    ObjectPool<Thing> pool = builder().maximum(0).build();
    pool.put(pool.get());
    assertThat(made.getFirst().destructions).isEqualTo(1);
    assertThat(pool.statistics().idle()).isZero();
  }

  /**
   * One recorded trace: four objects, handed out differently often, come back in another order than
   * they were made in; the pool keeps three. Later, time passes and a fifth comes.
   */
  private Set<Integer> survivors(UnaryOperator<ObjectPool.Builder<Thing>> policy) {
    made.clear();
    AtomicInteger seconds = new AtomicInteger();
    ObjectPool<Thing> pool = pool(policy.apply(builder().maximum(3)), seconds);
    Thing a = pool.get();
    pool.put(a);
    assertThat(pool.get()).isSameAs(a);
    pool.put(a);
    assertThat(pool.get()).isSameAs(a);
    seconds.set(10);
    Thing b = pool.get();
    Thing c = pool.get();
    pool.put(c);
    assertThat(pool.get()).isSameAs(c);
    Thing d = pool.get();
    seconds.set(20);
    pool.put(c);
    pool.put(a);
    pool.put(b);
    pool.put(d);
    return new HashSet<>(alive());
  }

  private static ObjectPool<Thing> pool(ObjectPool.Builder<Thing> builder, AtomicInteger seconds) {
    return StripedObjectPool.open(builder.options(), () -> seconds.get() * 1_000_000_000L);
  }

  @Test
  void oneTraceShowsThatEachPolicyLetsAnotherObjectGo() {
    // c came back first; b was handed out least, and is older than d; a was made first.
    assertThat(survivors(builder -> builder.eviction(EvictionPolicy.LRU))).containsExactly(0, 1, 3);
    assertThat(survivors(builder -> builder.eviction(EvictionPolicy.LFU))).containsExactly(0, 2, 3);
    assertThat(survivors(builder -> builder.eviction(EvictionPolicy.FIFO)))
        .containsExactly(1, 2, 3);
    // Nothing's time is over: d, which came last, goes.
    assertThat(survivors(builder -> builder.timeToLive(Duration.ofMinutes(1))))
        .containsExactly(0, 1, 2);
    // a's is, and d takes its place.
    assertThat(survivors(builder -> builder.timeToLive(Duration.ofSeconds(15))))
        .containsExactly(1, 2, 3);
  }

  /** Like the test above, but most idle objects lie on the shared list behind the slots. */
  @ParameterizedTest
  @EnumSource(
      value = EvictionPolicy.class,
      names = {"LRU", "LFU", "FIFO"})
  void thePolicyRulesOverManyObjects(EvictionPolicy policy) {
    ObjectPool<Thing> pool = builder().maximum(100).eviction(policy).build();
    List<Thing> all = get(pool, 110);
    for (int i = 109; i >= 0; i--) {
      pool.put(all.get(i));
    }
    // Returned from the newest to the oldest, each handed out once.
    int gone = policy == EvictionPolicy.LRU ? 100 : 0;
    assertThat(alive())
        .hasSize(100)
        .doesNotContainAnyElementsOf(IntStream.range(gone, gone + 10).boxed().toList());
  }

  @Test
  void anObjectWhoseTimeIsOverIsNeverHandedOut() {
    AtomicInteger seconds = new AtomicInteger();
    ObjectPool<Thing> pool = pool(builder().timeToLive(Duration.ofSeconds(5)), seconds);
    Thing old = pool.get();
    pool.put(old);
    seconds.set(4);
    assertThat(pool.get()).isSameAs(old);
    pool.put(old);
    seconds.set(5);
    assertThat(pool.get()).isNotSameAs(old);
    assertThat(old.destructions).isEqualTo(1);
    assertThat(pool.statistics()).returns(1L, ObjectPoolStatistics::evicted);
  }

  @Test
  void maintenanceLetsGoWhatHasExpiredAndRefills() {
    AtomicInteger seconds = new AtomicInteger();
    ObjectPool<Thing> pool = pool(builder().minimum(2).timeToLive(Duration.ofSeconds(5)), seconds);
    get(pool, 3).forEach(pool::put);
    seconds.set(5);
    pool.maintain();
    assertThat(alive()).containsExactly(3, 4);
    assertThat(pool.statistics())
        .returns(3L, ObjectPoolStatistics::evicted)
        .returns(2L, ObjectPoolStatistics::idle);
  }

  @Test
  void maintenanceLetsGoWhatNobodyUsedButTheMinimum() {
    AtomicInteger seconds = new AtomicInteger();
    ObjectPool<Thing> pool =
        pool(builder().minimum(2).idleTimeout(Duration.ofSeconds(60)), seconds);
    List<Thing> all = get(pool, 5);
    all.forEach(pool::put);
    pool.maintain();
    seconds.set(59);
    pool.maintain();
    assertThat(alive()).hasSize(5);
    Thing used = pool.get();
    pool.put(used);
    seconds.set(60);
    pool.maintain();
    // Three are surplus; of the unused four the least recently used go.
    assertThat(alive()).hasSize(2).contains(used.number);
    seconds.set(1000);
    pool.maintain();
    pool.maintain();
    assertThat(alive()).hasSize(2);
    assertThat(made).as("none was let go and made again").hasSize(5);
  }

  @Test
  void thePoolIsFilledToItsMinimumAtOnceAndByMaintenance() {
    ObjectPool<Thing> pool = builder().minimum(20).maximum(25).build();
    assertThat(made).hasSize(20);
    get(pool, 15);
    pool.maintain();
    assertThat(made).hasSize(35);
    assertThat(pool.statistics())
        .returns(20L, ObjectPoolStatistics::idle)
        .returns(15L, ObjectPoolStatistics::hits)
        .returns(0.0, ObjectPoolStatistics::allocationReduction);
  }

  @Test
  void aThreadMaintainsThePoolAtItsInterval() {
    ObjectPool<Thing> pool = builder().minimum(2).maintenanceInterval(Duration.ofMillis(1)).build();
    pool.get();
    pool.get();
    await().until(() -> pool.statistics().idle() == 2);
    pool.close();
  }

  @Test
  void anInterruptThatAFunctionLeavesDoesNotKeepTheMaintenanceThreadAwake() {
    Thread test = Thread.currentThread();
    Queue<Boolean> interrupted = new ConcurrentLinkedQueue<>();
    ObjectPool<Object> pool =
        ObjectPool.builder(
                () -> {
                  Thread current = Thread.currentThread();
                  if (!current.equals(test)) {
                    interrupted.add(current.isInterrupted());
                    current.interrupt();
                  }
                  return new Object();
                })
            .minimum(1)
            .maintenanceInterval(Duration.ofMillis(1))
            .build();
    for (int i = 1; i <= 2; i++) {
      int refills = i;
      pool.get();
      await().until(() -> interrupted.size() == refills);
    }
    pool.close();
    assertThat(interrupted).containsExactly(false, false);
  }

  @Test
  void theMaintenanceThreadEndsWithThePool() {
    Set<Thread> before = Thread.getAllStackTraces().keySet();
    ObjectPool<Thing> pool = builder().maintenanceInterval(Duration.ofHours(1)).build();
    List<Thread> started =
        Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> !before.contains(thread))
            .filter(thread -> thread.getName().equals("tidepool-object-pool"))
            .toList();
    assertThat(started).hasSize(1).allMatch(Thread::isDaemon);
    pool.close();
    await().until(() -> !started.getFirst().isAlive());
  }

  @Test
  void anObjectThatGrewTooLargeIsNotKept() {
    ObjectPool<Thing> pool = builder().maximumObjectSize(100, thing -> thing.size).build();
    Thing thing = pool.get();
    thing.size = 100;
    pool.put(thing);
    assertThat(pool.get()).isSameAs(thing);
    thing.size = 101;
    pool.put(thing);
    assertThat(thing.destructions).isEqualTo(1);
    assertThat(pool.statistics())
        .returns(1L, ObjectPoolStatistics::oversized)
        .returns(0L, ObjectPoolStatistics::idle);
  }

  @Test
  void anInvalidObjectIsDestroyedAndTheNextOneIsHandedOut() {
    ObjectPool<Thing> pool = builder().build();
    List<Thing> all = get(pool, 3);
    all.forEach(pool::put);
    all.get(0).valid = false;
    all.get(1).valid = false;
    assertThat(pool.get()).isSameAs(all.get(2));
    pool.get();
    assertThat(made).hasSize(4);
    assertThat(all).extracting(thing -> thing.destructions).containsExactly(1, 1, 0);
    assertThat(pool.statistics())
        .returns(2L, ObjectPoolStatistics::invalid)
        .returns(5L, ObjectPoolStatistics::gets)
        .returns(1L, ObjectPoolStatistics::hits)
        .returns(2L, ObjectPoolStatistics::leased);
  }

  @Test
  void whatCreateThrowsReachesTheCallerAndNothingIsLost() {
    RuntimeException failure = new IllegalArgumentException("no more");
    AtomicInteger calls = new AtomicInteger();
    ObjectPool<Thing> pool =
        ObjectPool.builder(
                () -> {
                  if (calls.incrementAndGet() == 2) {
                    throw failure;
                  }
                  return make();
                })
            .maintenanceInterval(Duration.ZERO)
            .build();
    Thing thing = pool.get();
    assertThatIllegalArgumentException().isThrownBy(pool::get).isSameAs(failure);
    assertThat(pool.statistics()).isEqualTo(new ObjectPoolStatistics(1, 0, 1, 0, 0, 0, 0, 0, 0, 1));
    pool.put(thing);
    assertThat(get(pool, 2)).doesNotHaveDuplicates();
  }

  @Test
  void aPoolThatCannotBeFilledLeavesNothingBehind() {
    assertThatIllegalStateException()
        .isThrownBy(
            () ->
                ObjectPool.builder(
                        () -> {
                          if (made.size() == 3) {
                            throw new IllegalStateException("enough");
                          }
                          return make();
                        })
                    .destroy(thing -> thing.destructions++)
                    .minimum(5)
                    .build())
        .withMessage("enough");
    assertThat(made).hasSize(3);
    assertThat(alive()).isEmpty();
  }

  @Test
  void aCreateFunctionThatGivesNullOrTheSameAgainIsTold() {
    Thing same = new Thing(0);
    ObjectPool<Thing> pool = ObjectPool.builder(() -> same).build();
    assertThat(pool.get()).isSameAs(same);
    assertThatIllegalStateException()
        .isThrownBy(pool::get)
        .withMessageContaining("make a new object each time");
    assertThat(pool.statistics().leased()).isEqualTo(1);
    pool.put(same);
    pool.close();
    assertThatNullPointerException()
        .isThrownBy(() -> ObjectPool.<Thing>builder(() -> null).build().get())
        .withMessageContaining("gave null");
  }

  @Test
  void anObjectWhoseResetFailsIsDestroyed() {
    ObjectPool<Thing> pool = failing(builder -> builder.reset(ObjectPoolTest::fail));
    Thing thing = pool.get();
    pool.put(thing);
    assertGoneAsInvalid(pool, thing);
  }

  @Test
  void anObjectWhoseSizeCannotBeToldIsDestroyed() {
    ObjectPool<Thing> pool =
        failing(
            builder ->
                builder.maximumObjectSize(
                    1,
                    thing -> {
                      fail(thing);
                      return 0;
                    }));
    Thing thing = pool.get();
    pool.put(thing);
    assertGoneAsInvalid(pool, thing);
  }

  @Test
  void anObjectWhoseValidationFailsIsDestroyed() {
    ObjectPool<Thing> pool =
        failing(
            builder ->
                builder.validate(
                    thing -> {
                      fail(thing);
                      return true;
                    }));
    Thing thing = pool.get();
    pool.put(thing);
    assertThat(pool.get()).isNotSameAs(thing);
    assertThat(thing.destructions).isEqualTo(1);
    assertThat(pool.statistics()).returns(1L, ObjectPoolStatistics::invalid);
  }

  @Test
  void anErrorIsThrownOnWithTheObjectDestroyed() {
    Consumer<Thing> error =
        thing -> {
          throw new StackOverflowError("deep");
        };
    ObjectPool<Thing> pool = failing(builder -> builder.reset(error));
    Thing thing = pool.get();
    assertThatExceptionOfType(StackOverflowError.class).isThrownBy(() -> pool.put(thing));
    assertGoneAsInvalid(pool, thing);
  }

  @Test
  void anObjectWhoseDestructionFailsIsGoneAllTheSame() {
    ObjectPool<Thing> pool = failing(builder -> builder.destroy(ObjectPoolTest::fail).maximum(1));
    List<Thing> all = get(pool, 3);
    all.forEach(pool::put);
    assertThat(pool.statistics())
        .returns(2L, ObjectPoolStatistics::destroyed)
        .returns(1L, ObjectPoolStatistics::idle);
    pool.close();
    assertThat(pool.statistics())
        .returns(3L, ObjectPoolStatistics::destroyed)
        .returns(0L, ObjectPoolStatistics::idle);
  }

  private ObjectPool<Thing> failing(UnaryOperator<ObjectPool.Builder<Thing>> failure) {
    return failure.apply(builder()).build();
  }

  private static void fail(Thing thing) {
    throw new IllegalStateException("thing " + thing.number + " fails on purpose");
  }

  private static void assertGoneAsInvalid(ObjectPool<Thing> pool, Thing thing) {
    assertThat(thing.destructions).isEqualTo(1);
    assertThat(pool.statistics()).isEqualTo(new ObjectPoolStatistics(1, 0, 1, 1, 0, 1, 0, 0, 0, 0));
    assertThatIllegalArgumentException().isThrownBy(() -> pool.put(thing));
  }

  @Test
  void aClosedPoolDestroysWhatIsIdleAndWhatComesBack() {
    ObjectPool<Thing> pool = builder().minimum(3).build();
    Thing out = pool.get();
    ObjectPool.Lease<Thing> lease = pool.lease();
    pool.close();
    pool.close();
    assertThat(pool.statistics()).returns(2L, ObjectPoolStatistics::leased);
    assertThat(alive()).hasSize(2);
    pool.put(out);
    lease.close();
    assertThat(alive()).isEmpty();
    assertThat(made).allMatch(thing -> thing.destructions == 1);
    assertThat(pool.statistics()).returns(3L, ObjectPoolStatistics::discarded);
    assertThatIllegalStateException().isThrownBy(pool::get).withMessageContaining("closed");
    assertThatIllegalStateException().isThrownBy(pool::lease);
    pool.maintain();
    assertThat(made).hasSize(3);
  }

  @Test
  void optionsThatDoNotGoTogetherAreToldInOneSentence() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder().minimum(11).maximum(10).build())
        .withMessage(
            "the minimum of an object pool is 11; it must be from 0 to the maximum, which is 10");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder().maximum(-1).build())
        .withMessageContaining("maximum of an object pool is -1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder().minimum(-1).build())
        .withMessageContaining("minimum of an object pool is -1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder().maximumObjectSize(-1, thing -> 0).build())
        .withMessageContaining("maximumObjectSize of an object pool is -1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder().eviction(EvictionPolicy.TIME_TO_LIVE).build())
        .withMessageContaining("timeToLive of an object pool is PT0S");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> builder().timeToLive(Duration.ofSeconds(1)).eviction(EvictionPolicy.LRU).build())
        .withMessageContaining("eviction is LRU");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder().idleTimeout(Duration.ofSeconds(-1)).build())
        .withMessageContaining("idleTimeout of an object pool is PT-1S");
    assertThat(made).isEmpty();
  }
}
