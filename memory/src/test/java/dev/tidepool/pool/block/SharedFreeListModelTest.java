package dev.tidepool.pool.block;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.pool.ModelChecks;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Test;

/**
 * All ways in which the blocks of a shared list change hands, tried by a model checker: although
 * the list only guesses where a block was put down last, no block ever has two owners, and none
 * that is idle is forgotten.
 */
public class SharedFreeListModelTest {
  private static final int BLOCKS = 2;
  private static final int MORE_THAN_A_BITMAP = 100;

  private final SharedFreeList list = new SharedFreeList(true);
  private final PooledBlock[] blocks = new PooledBlock[BLOCKS];
  private final Owners owners = new Owners(BLOCKS);

  /** Creates a shared list with one block idle and one taken. */
  public SharedFreeListModelTest() {
    for (int i = 0; i < BLOCKS; i++) {
      blocks[i] = settled(i);
    }
    owners.own(1);
    list.put(blocks[0]);
  }

  private PooledBlock settled(int bytes) {
    PooledBlock block = new PooledBlock(Owners.NO_POOL, new BareBlock(), bytes, 0, null);
    list.settle(block);
    return block;
  }

  private boolean giveBack(int block) {
    if (owners.giveUp(block)) {
      list.put(blocks[block]);
    }
    return true;
  }

  /** Takes any block. */
  @Operation
  public boolean take() {
    PooledBlock block = list.take();
    if (block != null) {
      owners.own((int) block.bytes);
    }
    return true;
  }

  /** Takes the first block where it lies, as a trim does. */
  @Operation
  public boolean takeFirst() {
    if (blocks[0].bitmap().take(blocks[0].bit())) {
      owners.own(0);
    }
    return true;
  }

  /** Gives the first block back, if somebody has it. */
  @Operation
  public boolean giveFirstBack() {
    return giveBack(0);
  }

  /** Gives the second block back, if somebody has it. */
  @Operation
  public boolean giveSecondBack() {
    return giveBack(1);
  }

  /** At the end each block has an owner or is found. */
  @Validate
  public void nothingIsForgotten() {
    for (PooledBlock block = list.take(); block != null; block = list.take()) {
      owners.own((int) block.bytes);
    }
    for (int i = 0; i < BLOCKS; i++) {
      if (!owners.isOwned(i)) {
        throw new AssertionError("block " + i + " is idle, and the shared list does not find it");
      }
    }
  }

  @Test
  void noBlockHasTwoOwnersAndNoneIsForgotten() {
    ModelChecks.options()
        .actorsPerThread(2)
        .actorsBefore(0)
        .actorsAfter(1)
        .loopBound(500)
        .check(SharedFreeListModelTest.class);
  }

  @Test
  void blocksThatWerePutDownLastAreTakenFirst() {
    list.take();
    PooledBlock[] more = new PooledBlock[MORE_THAN_A_BITMAP];
    for (int i = 0; i < more.length; i++) {
      more[i] = settled(BLOCKS + i);
    }
    for (int i : new int[] {3, 99, 70, 5}) {
      list.put(more[i]);
    }

    assertThat(list.take()).isSameAs(more[5]);
    assertThat(list.take()).isSameAs(more[70]);
    list.put(more[8]);
    assertThat(list.take()).isSameAs(more[8]);
    assertThat(list.take()).isSameAs(more[99]);
    assertThat(list.take()).isSameAs(more[3]);
    assertThat(list.take()).isNull();
  }

  @Test
  void allBlocksAreFoundHoweverManyWerePutDown() {
    list.take();
    PooledBlock[] more = new PooledBlock[MORE_THAN_A_BITMAP];
    for (int i = 0; i < more.length; i++) {
      more[i] = settled(i);
      list.put(more[i]);
    }

    assertThat(more).allSatisfy(_ -> assertThat(list.take()).isNotNull());
    assertThat(list.take()).isNull();
  }
}
