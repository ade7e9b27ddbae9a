package dev.tidepool.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Fails each test that leaves buffers open, with the tag, the type, the bytes and, where it is
 * recorded, the place that allocated each.
 *
 * <p>A test gets a manager as a parameter, on an accelerator of its choice, and the check and the
 * close come with it; a parameter of type {@link dev.tidepool.Tidepool} is what that manager is of:
 *
 * <pre>{@code
 * @LeakFree
 * class SmoothingTest {
 *   @Test
 *   void smoothsTheEdges(UnifiedMemoryManager memory) {
 *     try (UnifiedBuffer<float[]> image = memory.copyOf(pixels)) { ... }
 *   }
 * }
 * }</pre>
 *
 * <p>Managers in fields of the test, and those of a {@code Tidepool} in a field, are checked too:
 * what was opened since the test method began and is still open when {@code @AfterEach} is done, or
 * was when it closed the manager, is a leak. Buffers whose close waits for pending work are waited
 * for.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(LeakFreeExtension.class)
public @interface LeakFree {
  /** The id of the accelerator that parameters are of; the best one by default. */
  String accelerator() default "auto";
}
