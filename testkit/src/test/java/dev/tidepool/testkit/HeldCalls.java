package dev.tidepool.testkit;

import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A provider whose devices stop inside a chosen call, as a slow driver does, until the test lets
 * them go on. It notes calls that are made once their device is closed, and those that are under
 * way while it closes.
 */
final class HeldCalls implements AcceleratorProvider {
  private final AcceleratorProvider provider;
  private final Queue<String> misdeeds = new ConcurrentLinkedQueue<>();
  private final AtomicInteger inside = new AtomicInteger();
  private final CountDownLatch arrived = new CountDownLatch(1);
  private final CountDownLatch released = new CountDownLatch(1);
  private volatile @Nullable String held;

  HeldCalls(AcceleratorProvider provider) {
    this.provider = provider;
  }

  /** The next call of a method of a device stops inside. */
  void hold(String method) {
    held = method;
  }

  /** Waits until a call has stopped. */
  void awaitArrival() throws InterruptedException {
    arrived.await();
  }

  /** Lets it go on. */
  void release() {
    released.countDown();
  }

  /** Calls under way just now. */
  int inside() {
    return inside.get();
  }

  /** What a driver may crash of. */
  List<String> misdeeds() {
    return List.copyOf(misdeeds);
  }

  @Override
  public String name() {
    return provider.name();
  }

  @Override
  public Discovery discover() {
    Discovery found = provider.discover();
    return new Discovery(found.devices().stream().map(this::holding).toList(), found.notes());
  }

  private Device holding(Device device) {
    return (Device)
        Proxy.newProxyInstance(
            Device.class.getClassLoader(), new Class<?>[] {Device.class}, new Holding(device));
  }

  private final class Holding implements java.lang.reflect.InvocationHandler {
    private final Device device;
    private volatile boolean closed;

    Holding(Device device) {
      this.device = device;
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments)
        throws Throwable {
      switch (method.getName()) {
        case "equals" -> {
          return arguments != null && proxy == arguments[0];
        }
        case "hashCode", "toString", "info" -> {
          return call(method, arguments);
        }
        case "close" -> {
          if (inside.get() > 0) {
            misdeeds.add("closed with calls under way");
          }
          closed = true;
          return call(method, arguments);
        }
        default -> {
          return watched(method, arguments);
        }
      }
    }

    private @Nullable Object watched(Method method, Object @Nullable [] arguments)
        throws Throwable {
      if (closed) {
        misdeeds.add(method.getName() + " of a closed device");
      }
      inside.incrementAndGet();
      try {
        if (method.getName().equals(held)) {
          held = null;
          arrived.countDown();
          released.await();
        }
        return call(method, arguments);
      } finally {
        inside.decrementAndGet();
      }
    }

    private @Nullable Object call(Method method, Object @Nullable [] arguments) throws Throwable {
      try {
        return method.invoke(device, arguments);
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    }
  }
}
