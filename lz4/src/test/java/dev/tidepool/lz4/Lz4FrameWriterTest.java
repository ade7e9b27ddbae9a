package dev.tidepool.lz4;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.Channels;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("The writer of an LZ4 frame")
class Lz4FrameWriterTest {
  @Test
  void adds_nothing_to_a_frame_that_has_ended() throws IOException {
    MemorySegment bytes = MemorySegment.ofArray(new byte[100]);
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    Lz4FrameWriter writer = new Lz4FrameWriter(Channels.newChannel(file), Lz4Frame.of(100));
    writer.write(bytes);
    writer.end();
    byte[] frame = file.toByteArray();

    assertThatIllegalStateException().isThrownBy(writer::end).withMessageContaining("has ended");
    assertThatIllegalStateException().isThrownBy(() -> writer.write(bytes));
    assertThat(file.toByteArray()).isEqualTo(frame);
  }
}
