package dev.tidepool.spring;

import dev.tidepool.UnifiedMemoryManager;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** The endpoint {@code tidepool}, if the actuator is present and exposes it. */
@AutoConfiguration(after = TidepoolAutoConfiguration.class)
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnSingleCandidate(UnifiedMemoryManager.class)
@ConditionalOnAvailableEndpoint(TidepoolEndpoint.class)
public final class TidepoolEndpointAutoConfiguration {
  /** Returns the endpoint. */
  @Bean
  @ConditionalOnMissingBean
  public TidepoolEndpoint tidepoolEndpoint(UnifiedMemoryManager memory) {
    return new TidepoolEndpoint(memory);
  }
}
