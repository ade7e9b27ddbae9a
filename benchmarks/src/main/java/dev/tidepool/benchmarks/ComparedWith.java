package dev.tidepool.benchmarks;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The benchmarks of the same class that one is held against in the table of {@link Rounds}. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface ComparedWith {
  /** Names of methods. */
  String[] value();
}
