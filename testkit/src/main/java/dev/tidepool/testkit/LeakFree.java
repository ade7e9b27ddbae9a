package dev.tidepool.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Fails each test that leaves buffers open. The message gives the tag, the type, the bytes and, if
 * recorded, the allocation site of each.
 *
 * <p>A test may have a manager as a parameter, on an accelerator of its choice, which is checked
 * and closed. A parameter of type {@link dev.tidepool.Tidepool} is the one of that manager:
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
 * is a buffer that was opened since the test method began, and is still open after
 * {@code @AfterEach} or when its manager begins to close. The check waits for buffers whose close
 * waits for pending operations. An open manager without buffers is not a leak. Concurrent tests
 * need their own managers, because each test would report the buffers of the others.
 *
 * <p>It works with JUnit 5 from 5.12 on and with JUnit 6; the test chooses the version.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(LeakFreeExtension.class)
public @interface LeakFree {
  /** Returns the id of the parameters' accelerator; the best one by default. */
  String accelerator() default "auto";
}
