package dev.tidepool.benchmarks;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Names the benchmarks of the same class that {@link Rounds} compares a benchmark with. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface ComparedWith {
  /** Returns the names of the methods. */
  String[] value();
}
