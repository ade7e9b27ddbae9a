package dev.tidepool.testkit;

import dev.tidepool.testkit.conformance.Topic;
import java.lang.reflect.AnnotatedElement;
import java.util.Optional;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Skips the topics that a suite leaves out, see {@link AcceleratorConformance#runs}. */
final class ChosenTopics implements ExecutionCondition {
  private static final boolean ALL = Boolean.getBoolean("tidepool.test.long");

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    Optional<AnnotatedElement> element = context.getElement();
    // JUnit creates the instance of a suite before it evaluates the topics.
    Optional<Object> suite = context.getParent().flatMap(ExtensionContext::getTestInstance);
    if (!ALL
        && element.orElse(null) instanceof Class<?> type
        && Topic.class.isAssignableFrom(type)
        && suite.orElse(null) instanceof AcceleratorConformance conformance
        && !conformance.runs(type.asSubclass(Topic.class))) {
      return ConditionEvaluationResult.disabled(
          "another suite of this backend runs it; with -Dtidepool.test.long=true this one does,"
              + " too");
    }
    return ConditionEvaluationResult.enabled("it runs");
  }
}
