package dev.tidepool.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * ONNX Runtime takes the memory of buffers as {@code java.nio} buffers: it reads its inputs there
 * and writes its outputs there.
 */
class OnnxRuntimeTest {
  private static final int ROWS = 3;
  private static final int COLUMNS = 4;
  private static final int FLOAT = 1;

  private final OrtEnvironment onnx = OrtEnvironment.getEnvironment();
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;

  @BeforeEach
  void open() {
    tidepool = Tidepool.open();
    memory = tidepool.memory(tidepool.accelerator("cpu:0"));
  }

  @AfterEach
  void close() {
    tidepool.close();
  }

  /** Writes messages of protocol buffers, in the encoding that ONNX models are in. */
  private static final class Message {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    private Message varint(long value) {
      long rest = value;
      while (rest > 127) {
        bytes.write((int) (rest & 127 | 128));
        rest >>>= 7;
      }
      bytes.write((int) rest);
      return this;
    }

    Message number(int field, long value) {
      return varint(field << 3).varint(value);
    }

    Message bytes(int field, byte[] value) {
      varint(field << 3 | 2).varint(value.length);
      bytes.writeBytes(value);
      return this;
    }

    Message text(int field, String value) {
      return bytes(field, value.getBytes(StandardCharsets.UTF_8));
    }

    Message message(int field, Message value) {
      return bytes(field, value.bytes.toByteArray());
    }

    byte[] toBytes() {
      return bytes.toByteArray();
    }
  }

  /** A tensor's name and type: ValueInfoProto, with a TensorProto type and a TensorShapeProto. */
  private static Message value(String name) {
    Message shape =
        new Message()
            .message(1, new Message().number(1, ROWS))
            .message(1, new Message().number(1, COLUMNS));
    Message tensor = new Message().number(1, FLOAT).message(2, shape);
    return new Message().text(1, name).message(2, new Message().message(1, tensor));
  }

  /** The model {@code y = x + x}: a ModelProto with a GraphProto of one NodeProto. */
  private static byte[] model() {
    Message node = new Message().text(1, "x").text(1, "x").text(2, "y").text(4, "Add");
    Message graph =
        new Message()
            .message(1, node)
            .text(2, "twice")
            .message(11, value("x"))
            .message(12, value("y"));
    Message operators = new Message().text(1, "").number(2, 13);
    return new Message().number(1, 7).message(7, graph).message(8, operators).toBytes();
  }

  /** A tensor whose memory is the buffer's. */
  private OnnxTensor tensor(UnifiedBuffer<float[]> buffer) throws OrtException {
    FloatBuffer view = buffer.asByteBuffer().asFloatBuffer();
    return OnnxTensor.createTensor(onnx, view, new long[] {ROWS, COLUMNS});
  }

  @Test
  void theViewHasThePlatformsByteOrder() {
    try (UnifiedBuffer<float[]> buffer = memory.copyOf(new float[] {1.5f})) {
      ByteBuffer view = buffer.asByteBuffer();
      assertThat(view.order()).isEqualTo(ByteOrder.nativeOrder());
      assertThat(view.isDirect()).isTrue();
      assertThat(view.getFloat(0)).isEqualTo(1.5f);
    }
  }

  @Test
  void aModelReadsAndWritesTheMemoryOfBuffers() throws OrtException {
    float[] values = new float[ROWS * COLUMNS];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    try (UnifiedBuffer<float[]> x = memory.copyOf(values);
        UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, values.length);
        OrtSession session = onnx.createSession(model())) {
      memory.compile(KernelSource.elementwise("x = x + 1")).execute(Arguments.of("x", x));
      try (OnnxTensor input = tensor(x);
          OnnxTensor output = tensor(y)) {
        try (OrtSession.Result result = session.run(Map.of("x", input), Map.of("y", output))) {
          assertThat(result.size()).isEqualTo(1);
        }
        assertIsTwice(y, 1);
        // The tensor is the buffer's memory, not a copy: a kernel changes the model's input.
        memory.compile(KernelSource.elementwise("x = x + 1")).execute(Arguments.of("x", x));
        session.run(Map.of("x", input), Map.of("y", output)).close();
        assertIsTwice(y, 2);
      }
      // And the model's output is a kernel's input.
      memory.compile(KernelSource.elementwise("y = y / 2")).execute(Arguments.of("y", y));
      float[] half = new float[values.length];
      y.copyTo(half);
      assertThat(half[11]).isEqualTo(13f);
    }
  }

  @Test
  void aModelRunsBetweenKernelsAgainAndAgain() throws OrtException {
    try (UnifiedBuffer<float[]> x = memory.allocate(ElementType.FLOAT, ROWS * COLUMNS);
        UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, ROWS * COLUMNS);
        OrtSession session = onnx.createSession(model());
        OnnxTensor input = tensor(x);
        OnnxTensor output = tensor(y)) {
      Kernel before = memory.compile(KernelSource.elementwise("x = a"));
      Kernel after = memory.compile(KernelSource.elementwise("y = y + 1"));
      for (int round = 1; round <= 3; round++) {
        before.execute(Arguments.of("x", x, "a", (float) round));
        // Brings the input to the host, and tells the buffers that the host wrote the output.
        try (NativeAccess _ =
            memory.lend(
                NativeUse.read(x).as(NativeKind.HOST_POINTER),
                NativeUse.write(y).as(NativeKind.HOST_POINTER))) {
          session.run(Map.of("x", input), Map.of("y", output)).close();
        }
        after.execute(Arguments.of("y", y));
        float[] result = new float[ROWS * COLUMNS];
        y.copyTo(result);
        assertThat(result).containsOnly(2 * round + 1);
      }
    }
  }

  private static void assertIsTwice(UnifiedBuffer<float[]> y, int added) {
    float[] result = new float[ROWS * COLUMNS];
    y.copyTo(result);
    for (int i = 0; i < result.length; i++) {
      assertThat(result[i]).isEqualTo(2f * (i + added));
    }
  }
}
