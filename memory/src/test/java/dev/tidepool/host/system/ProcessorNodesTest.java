package dev.tidepool.host.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Processors belong to the nodes that Linux lists them under. */
class ProcessorNodesTest {
  @Test
  void aProcessorHasThePlaceOfItsNodeInTheList() {
    ProcessorNodes nodes =
        ProcessorNodes.of(List.of(0, 4), node -> List.of(node == 0 ? "0-3,8-11" : "4-7,12-15"));
    assertThat(List.of(0, 3, 4, 7, 8, 11, 12, 15))
        .map(nodes::placeOf)
        .containsExactly(0, 0, 1, 1, 0, 0, 1, 1);
  }

  @Test
  void aProcessorOfNoNodeCountsForTheFirst() {
    ProcessorNodes nodes = ProcessorNodes.of(List.of(1), _ -> List.of("2"));
    assertThat(List.of(0, 2, 99)).map(nodes::placeOf).containsOnly(0);
    assertThat(nodes.placeOf(-1)).isZero();
  }

  @Test
  void theSystemTellsTheProcessorOfTheCaller() {
    assumeTrue(ProcessorNodes.areKnown(), "needs sched_getcpu");
    int processors = 4096;
    ProcessorNodes second =
        ProcessorNodes.of(List.of(0, 1), node -> List.of(node == 0 ? "" : "0-" + processors));
    assertThat(second.placeOfCaller()).isEqualTo(1);
  }
}
