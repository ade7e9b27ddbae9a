package dev.tidepool.runtime.session;

import dev.tidepool.Accelerator;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.TidepoolRuntime;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.pool.object.SizedArrayPool;
import dev.tidepool.pool.object.StripedObjectPool;
import dev.tidepool.pooling.ArrayPool;
import dev.tidepool.pooling.ObjectPool;
import dev.tidepool.pooling.ObjectPoolOptions;
import dev.tidepool.runtime.transfers.DeviceAccelerator;
import java.util.function.Function;
import java.util.function.Predicate;

/** The service that implements the factories of {@code dev.tidepool}. */
public final class RuntimeProvider implements TidepoolRuntime {
  /** Creates the provider, for {@link java.util.ServiceLoader}. */
  public RuntimeProvider() {}

  @Override
  public TidepoolRuntime.Session open(MemoryOptions options) {
    return RuntimeSession.discover(options);
  }

  @Override
  public TidepoolRuntime.Session open(String accelerator, MemoryOptions options) {
    return discoverFor(accelerator, options);
  }

  @Override
  public UnifiedMemoryManager createManager(String accelerator, MemoryOptions options) {
    return managerOf(discoverFor(accelerator, options), found -> found.accelerator(accelerator));
  }

  private static RuntimeSession discoverFor(String accelerator, MemoryOptions options) {
    String kind = accelerator.substring(0, (accelerator + ":").indexOf(':'));
    RuntimeSession session =
        RuntimeSession.discover(
            options,
            provider ->
                kind.equals("auto") ? !provider.offersOnlyTheCpu() : provider.name().equals(kind));
    if (session.find(accelerator).isPresent()) {
      return session;
    }
    session.close();
    // The message lists all accelerators.
    RuntimeSession all = RuntimeSession.discover(options);
    try {
      all.accelerator(accelerator);
      return all;
    } catch (IllegalArgumentException e) {
      all.close();
      throw e;
    }
  }

  @Override
  public UnifiedMemoryManager createManager(
      Predicate<? super Accelerator> condition, MemoryOptions options) {
    return managerOf(RuntimeSession.discover(options), found -> found.accelerator(condition));
  }

  private static UnifiedMemoryManager managerOf(
      RuntimeSession session, Function<RuntimeSession, Accelerator> choice) {
    try {
      return session.managerThatEnds(choice.apply(session));
    } catch (RuntimeException | Error e) {
      // The caller gets no session, so this method closes its devices, threads and files.
      session.close();
      throw e;
    }
  }

  @Override
  public UnifiedMemoryManager createManager(Accelerator accelerator, MemoryOptions options) {
    if (!(accelerator instanceof DeviceAccelerator device)) {
      throw new IllegalArgumentException(
          "the accelerator "
              + accelerator.id()
              + " is not of this library; take it from"
              + " Tidepool.accelerators()");
    }
    // No other class implements sessions.
    return ((RuntimeSession) device.session()).furtherManager(device, options);
  }

  @Override
  public <T> ObjectPool<T> createObjectPool(ObjectPoolOptions<T> options) {
    return StripedObjectPool.open(options);
  }

  @Override
  public <A> ArrayPool<A> createArrayPool(
      ElementType<A> type, long maximumBytes, ArrayPool.Clearing clearing) {
    return SizedArrayPool.open(type, maximumBytes, clearing);
  }
}
