package dev.tidepool.runtime.report;

import dev.tidepool.spi.support.FailureLog;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.JMException;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;

/**
 * The registration of a bean at the platform's MBean server; {@link #close()} ends it. This class
 * is loaded only if the module {@code java.management} is present.
 */
final class MBeanRegistration implements AutoCloseable {
  private static final AtomicLong NUMBERS = new AtomicLong();

  private final ObjectName name;

  private MBeanRegistration(ObjectName name) {
    this.name = name;
  }

  /** Registers a bean. Returns null if the server refuses, which is reported. */
  static @Nullable MBeanRegistration of(ManagementBean bean) {
    try {
      ObjectName name =
          new ObjectName(
              "dev.tidepool:type=Memory,accelerator="
                  + ObjectName.quote(bean.getAccelerator())
                  + ",id="
                  + NUMBERS.incrementAndGet());
      ManagementFactory.getPlatformMBeanServer().registerMBean(bean, name);
      return new MBeanRegistration(name);
    } catch (JMException e) {
      FailureLog.warn(bean.getAccelerator() + " has no management bean", e);
      return null;
    }
  }

  @Override
  public void close() throws JMException {
    ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
  }
}
