package dev.tidepool.spring;

import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedMemoryManager;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/**
 * The health of the manager, as the component {@code tidepool}, if the health module is present.
 */
@AutoConfiguration(after = TidepoolAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnSingleCandidate(UnifiedMemoryManager.class)
@ConditionalOnBean(MemoryOptions.class)
@ConditionalOnEnabledHealthIndicator("tidepool")
public final class TidepoolHealthAutoConfiguration {
  /** Returns the health of the manager. */
  @Bean
  @ConditionalOnMissingBean(name = "tidepoolHealthIndicator")
  public HealthIndicator tidepoolHealthIndicator(
      UnifiedMemoryManager memory, MemoryOptions options) {
    return new TidepoolHealthIndicator(memory, options);
  }
}
