package dev.tidepool.runtime.order;

import dev.tidepool.spi.Device;
import java.lang.reflect.Proxy;

/** A storage of which only the order of its operations and its uses count. */
class Bytes extends OrderedResource {
  private final ResourceContext context;

  Bytes(MemoryWaiters waiters) {
    context = new Context(device(), waiters);
  }

  private static Device device() {
    return (Device)
        Proxy.newProxyInstance(
            Device.class.getClassLoader(),
            new Class<?>[] {Device.class},
            (_, method, _) -> {
              throw new AssertionError(method + " is called");
            });
  }

  private record Context(Device device, MemoryWaiters waiters) implements ResourceContext {
    @Override
    public String id() {
      return "bytes";
    }

    @Override
    public MultiBufferAdmission.Turn admission() {
      throw new UnsupportedOperationException();
    }
  }

  @Override
  public ResourceContext context() {
    return context;
  }

  @Override
  public boolean isExclusive() {
    return false;
  }

  @Override
  public void check(ResourceAccess use, long nowNanos) {}

  @Override
  public void entered(ResourceAccess use) {}

  @Override
  public boolean isOpen() {
    return true;
  }

  @Override
  public boolean isIdle() {
    return true;
  }

  @Override
  public Throwable explained(Throwable failure) {
    return failure;
  }

  @Override
  public void operationStarted() {}

  @Override
  public void operationEnded() {}

  @Override
  public boolean isSpilled() {
    return false;
  }

  @Override
  public void provideMemory() {}

  @Override
  public void resume() {}
}
