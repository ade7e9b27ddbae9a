package dev.tidepool.spring;

import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.SnapshotPage;
import org.springframework.boot.actuate.endpoint.Producible;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;
import org.springframework.util.MimeType;

/**
 * The snapshot of the manager: JSON, or a page for browsers. Tags and stacks reveal details of the
 * program, so expose the endpoint only to operators.
 */
@WebEndpoint(id = "tidepool")
public final class TidepoolEndpoint {
  /** The content type of the snapshot. */
  public enum Format implements Producible<Format> {
    /** The file that {@code tidepool view} reads. */
    JSON("application/json"),
    /** The page that {@code tidepool view} writes. */
    HTML("text/html;charset=UTF-8");

    private final String type;

    Format(String type) {
      this.type = type;
    }

    @Override
    public MimeType getProducedMimeType() {
      return MimeType.valueOf(type);
    }

    @Override
    public boolean isDefault() {
      return this == JSON;
    }
  }

  private final UnifiedMemoryManager memory;

  /** Creates the endpoint of a manager. */
  public TidepoolEndpoint(UnifiedMemoryManager memory) {
    this.memory = memory;
  }

  /** Returns a new snapshot. */
  @ReadOperation(producesFrom = Format.class)
  public WebEndpointResponse<String> snapshot(Format format) {
    String json = memory.snapshot().toJson();
    return new WebEndpointResponse<>(
        switch (format) {
          case JSON -> json;
          case HTML -> SnapshotPage.of(json);
        },
        format);
  }
}
