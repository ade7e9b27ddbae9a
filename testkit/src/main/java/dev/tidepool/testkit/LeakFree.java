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
 * <p>Every manager that the test opens itself is checked too, whether {@code create} or {@link
 * dev.tidepool.Tidepool} made it, on the test's thread or on one that it starts. So are managers in
 * fields of the test, and those of a {@code Tidepool} in a field, whenever they were opened. A leak
 * is what was opened since the test method began and is still open when {@code @AfterEach} is done,
 * or was when its manager began to close. Buffers whose close waits for pending work are waited
 * for. A manager that is left open without buffers is no leak. Tests that run at once need managers
 * of their own: of a shared one, each would be told the buffers of the others.
 *
 * <p>It works with JUnit 5 from 5.12 on and with JUnit 6; the version is the test's own choice.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(LeakFreeExtension.class)
public @interface LeakFree {
  /** The id of the accelerator that parameters are of; the best one by default. */
  String accelerator() default "auto";
}
