package dev.tidepool.spark;

import dev.tidepool.Capability;
import dev.tidepool.UnifiedMemoryManager;
import java.io.Serializable;
import java.util.stream.Stream;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The schema and size of the chunks of a kernel's input; sent to the executors. Public for code
 * that Spark generates.
 */
public final class ChunkShape implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Fits into a processor's cache, with the copies beside it. */
  private static final long SHARED_CHUNK_BYTES = 1L << 20;

  /** Makes the latency of transfers and launches negligible. */
  private static final long DEVICE_CHUNK_BYTES = 16L << 20;

  private final StructType schema;
  private final StructType resultSchema;

  ChunkShape(StructType schema, StructType resultSchema) {
    this.schema = StorableTypes.of(schema);
    this.resultSchema = resultSchema;
  }

  /** Returns an empty chunk with a suitable size for the task's device. */
  public RowChunk open() {
    ExecutorSession session = ExecutorSession.current();
    UnifiedMemoryManager memory = session.memory(TaskContext.get());
    boolean isShared = memory.accelerator().capabilities().contains(Capability.SHARED_MEMORY);
    long bytes = session.chunkBytes().orElse(isShared ? SHARED_CHUNK_BYTES : DEVICE_CHUNK_BYTES);
    return new RowChunk(schema, resultSchema, (int) Math.max(1, bytes / rowBytes()), bytes);
  }

  private long rowBytes() {
    return Stream.of(schema, resultSchema)
        .flatMap(columns -> Stream.of(columns.fields()))
        .map(StructField::dataType)
        .mapToLong(type -> type.defaultSize())
        .sum();
  }
}
