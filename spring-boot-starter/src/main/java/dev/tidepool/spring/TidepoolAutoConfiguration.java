package dev.tidepool.spring;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorKind;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.ConfigurableEnvironment;

/**
 * The options, a {@link Tidepool} and the manager of one accelerator, as beans. Each gives way to a
 * bean of its type that the service has. The manager is closed first, when all beans that use it
 * are gone, and then the {@code Tidepool}.
 */
@AutoConfiguration
public final class TidepoolAutoConfiguration {
  private static final Logger LOG = LoggerFactory.getLogger("dev.tidepool");

  /**
   * Returns the options, from properties and customizers. Fails with an {@code
   * InvalidConfigurationPropertyValueException} if a property is unknown or its value impossible.
   */
  @Bean
  @ConditionalOnMissingBean
  public MemoryOptions tidepoolOptions(
      ConfigurableEnvironment environment, ObjectProvider<TidepoolCustomizer> customizers) {
    TidepoolProperties properties = new TidepoolProperties(environment);
    MemoryOptions.Builder builder = properties.options().reportListener(new ReportLogger());
    customizers.orderedStream().forEach(each -> each.customize(builder));
    return properties.build(builder);
  }

  /**
   * Returns the accelerators that {@code tidepool.accelerator} can mean, and the CPU. Other drivers
   * are not loaded.
   */
  @Bean(destroyMethod = "close")
  @ConditionalOnMissingBean
  public Tidepool tidepool(MemoryOptions options, ConfigurableEnvironment environment) {
    return new TidepoolProperties(environment).open(options);
  }

  /**
   * Returns the manager of the accelerator that {@code tidepool.accelerator} names, or of the best.
   *
   * @throws IllegalCallerException if a driver could not be opened because Java denies native
   *     access, and the processor was not asked for
   */
  @Bean(destroyMethod = "close")
  @ConditionalOnMissingBean
  public UnifiedMemoryManager tidepoolMemory(
      Tidepool tidepool, ConfigurableEnvironment environment) {
    TidepoolProperties properties = new TidepoolProperties(environment);
    Accelerator accelerator = properties.accelerator(tidepool);
    if (accelerator.kind() == AcceleratorKind.CPU
        && !properties.accelerator().equals(accelerator.id())) {
      checkNativeAccess(tidepool.notes());
    }
    LOG.info("Kernels run on {} ({})", accelerator.id(), accelerator.name());
    return tidepool.memory(accelerator);
  }

  /** The processor would silently take the place of a device that is there. */
  private static void checkNativeAccess(List<String> notes) {
    List<String> denied =
        notes.stream().filter(note -> note.contains("native access is denied")).toList();
    if (!denied.isEmpty()) {
      throw new IllegalCallerException(String.join("; ", denied));
    }
  }
}
