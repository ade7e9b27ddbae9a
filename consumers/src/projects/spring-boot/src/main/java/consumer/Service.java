package consumer;

import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedMemoryManager;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Gets a manager as a bean, with what its property says, and computes on it. */
@SpringBootApplication
public class Service {
  private final float[] result = new float[3];

  public Service(UnifiedMemoryManager memory) {
    if (memory.limit().orElse(0) != 64 << 20) {
      throw new AssertionError("the property is not the limit: " + memory.limit());
    }
    try (var x = memory.copyOf(new float[] {1, 2, 3});
        var y = memory.copyOf(result)) {
      memory.compile(KernelSource.elementwise("y = 2 * x")).execute(Arguments.of("x", x, "y", y));
      y.copyTo(result);
    }
  }

  public static void main(String[] arguments) {
    try (var context = SpringApplication.run(Service.class, arguments)) {
      float last = context.getBean(Service.class).result[2];
      if (last != 6) {
        throw new AssertionError("2 * 3 is not " + last);
      }
    }
  }
}
