package dev.tidepool.runtime.report;

import dev.tidepool.spi.support.FailureLog;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;

/**
 * The registration of a bean with the platform's MBean server. {@link #close()} ends it. This class
 * is loaded only if the module {@code java.management} is present.
 */
final class MBeanRegistration implements AutoCloseable {
  private static final AtomicLong NUMBERS = new AtomicLong();

  private final ObjectName name;

  private MBeanRegistration(ObjectName name) {
    this.name = name;
  }

  /** Registers a bean. If the server refuses, logs a warning and returns null. */
  static @Nullable MBeanRegistration of(ManagementBean bean) {
    try {
      ObjectName name = nextName(bean);
      while (!isRegistered(bean, name)) {
        name = nextName(bean);
      }
      return new MBeanRegistration(name);
    } catch (JMException e) {
      FailureLog.warn(bean.getAccelerator() + " has no management bean", e);
      return null;
    }
  }

  private static ObjectName nextName(ManagementBean bean) throws JMException {
    return new ObjectName(
        "dev.tidepool:type=Memory,accelerator="
            + ObjectName.quote(bean.getAccelerator())
            + ",id="
            + NUMBERS.incrementAndGet());
  }

  /** Returns false if the name is taken: this class counts from 1 in each class loader. */
  private static boolean isRegistered(ManagementBean bean, ObjectName name) throws JMException {
    try {
      ManagementFactory.getPlatformMBeanServer().registerMBean(bean, name);
      return true;
    } catch (InstanceAlreadyExistsException e) {
      return false;
    }
  }

  @Override
  public void close() throws JMException {
    ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
  }
}
