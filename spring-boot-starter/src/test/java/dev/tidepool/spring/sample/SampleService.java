package dev.tidepool.spring.sample;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** A service that doubles numbers, and one request of which forgets a buffer. */
@SpringBootApplication
public class SampleService {
  public static void main(String[] arguments) {
    SpringApplication.run(SampleService.class, arguments);
  }

  @RestController
  static class Doubling {
    private final UnifiedMemoryManager memory;
    private final MemoryOptions options;
    private final Kernel twice;
    private UnifiedBuffer<float[]> forgotten;

    Doubling(UnifiedMemoryManager memory, MemoryOptions options) {
      this.memory = memory;
      this.options = options;
      this.twice = memory.compile(KernelSource.elementwise("y = 2 * x"));
    }

    @PostMapping("/double")
    float[] twice(@RequestBody float[] numbers) {
      float[] doubled = new float[numbers.length];
      try (var x = memory.copyOf(numbers);
          var y = memory.copyOf(doubled)) {
        twice.execute(Arguments.of("x", x, "y", y));
        y.copyTo(doubled);
      }
      return doubled;
    }

    @PostMapping("/forget")
    void forget() {
      forgotten = memory.copyOf(new float[] {1, 2, 3});
    }

    @GetMapping("/options")
    String options() {
      return options.toString();
    }
  }
}
