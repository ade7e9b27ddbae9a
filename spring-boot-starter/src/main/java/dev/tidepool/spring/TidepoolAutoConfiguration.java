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
 * The options, a {@link Tidepool} and the manager of one accelerator, as beans. A bean that the
 * service defines replaces the one of the same type. The manager is closed after all beans that use
 * it, and before the {@code Tidepool}.
 */
@AutoConfiguration
public final class TidepoolAutoConfiguration {
  private static final Logger LOG = LoggerFactory.getLogger("dev.tidepool");

  /**
   * Returns the options from properties and customizers. Throws an {@code
   * InvalidConfigurationPropertyValueException} if a property is unknown or its value is invalid.
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
   * Returns the CPU and the accelerators that match {@code tidepool.accelerator}. Other drivers are
   * not loaded.
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
   *     access, and the property does not name the processor
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

  /** Fails if native access is denied, because the processor would silently replace a device. */
  private static void checkNativeAccess(List<String> notes) {
    List<String> denied =
        notes.stream().filter(note -> note.contains("native access is denied")).toList();
    if (!denied.isEmpty()) {
      throw new IllegalCallerException(String.join("; ", denied));
    }
  }
}
