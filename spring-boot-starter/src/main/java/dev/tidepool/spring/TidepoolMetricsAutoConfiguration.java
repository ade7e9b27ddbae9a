package dev.tidepool.spring;

import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.micrometer.TidepoolMetrics;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Meters of all managers that are beans, if Micrometer is present. */
@AutoConfiguration(after = TidepoolAutoConfiguration.class)
@ConditionalOnClass({MeterBinder.class, TidepoolMetrics.class})
@ConditionalOnBean(UnifiedMemoryManager.class)
public final class TidepoolMetricsAutoConfiguration {
  /** Returns the meters; Spring Boot binds them to its registries. */
  @Bean
  @ConditionalOnMissingBean
  public TidepoolMetrics tidepoolMetrics(ObjectProvider<UnifiedMemoryManager> managers) {
    TidepoolMetrics metrics = new TidepoolMetrics();
    // Prototype beans are excluded: this call would create a manager that no code closes.
    managers.orderedStream(ObjectProvider.UNFILTERED, false).forEach(metrics::add);
    return metrics;
  }
}
