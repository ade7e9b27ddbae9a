package dev.tidepool.interop;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Arrow's structures, and those of its form for devices. */
class ArrowStructsTest {
  @Test
  void theStructuresLieAsACompilerLaysThem() {
    assertThat(Peer.get().layout("arrow_layout"))
        .containsExactly(
            ArrowStructs.SCHEMA_BYTES,
            ArrowStructs.FORMAT,
            ArrowStructs.NAME,
            ArrowStructs.FLAGS,
            ArrowStructs.SCHEMA_RELEASE,
            ArrowStructs.ARRAY_BYTES,
            ArrowStructs.LENGTH,
            ArrowStructs.NULL_COUNT,
            ArrowStructs.OFFSET,
            ArrowStructs.BUFFER_COUNT,
            ArrowStructs.CHILD_COUNT,
            ArrowStructs.BUFFERS,
            ArrowStructs.DICTIONARY,
            ArrowStructs.ARRAY_RELEASE,
            ArrowStructs.ARRAY_PRIVATE,
            ArrowStructs.DEVICE_ARRAY_BYTES,
            ArrowStructs.DEVICE_ID,
            ArrowStructs.DEVICE_TYPE,
            ArrowStructs.SYNC_EVENT);
  }
}
