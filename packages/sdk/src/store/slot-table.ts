/**
 * An index from 32-bit hashes to slots: open addressing with linear probing, at most half full, 4 bytes per cell. It holds
 * no keys: the hash of a slot is in the caller's records, and the caller compares. Attackers cannot choose hashes that
 * collide, because the service issues what is hashed.
 */
export class SlotTable {
  /** Slot + 1; 0 if empty. The caller probes from `hash & mask` onwards to an empty cell. */
  cells = new Int32Array(16)
  mask = 15
  #size = 0
  readonly #hashOf: (slot: number) => number

  /** @param hashOf returns the hash of a slot, the same from `add` to `remove` */
  constructor(hashOf: (slot: number) => number) {
    this.#hashOf = hashOf
  }

  add(slot: number): void {
    this.#size++
    if (this.#size * 2 > this.cells.length) this.#grow(this.cells.length * 2)
    this.#place(slot)
  }

  /** Grows to this many slots. */
  reserve(size: number): void {
    let length = this.cells.length
    while (length < size * 2) length *= 2
    if (length > this.cells.length) this.#grow(length)
  }

  remove(slot: number): void {
    const { cells, mask } = this
    let hole = this.#hashOf(slot) & mask
    while (cells[hole] !== slot + 1) {
      if (cells[hole] === 0) return
      hole = (hole + 1) & mask
    }
    // Moves up the cells that were pushed past the hole, so that no probe ends early and no tombstones are needed.
    for (let at = (hole + 1) & mask; cells[at] !== 0; at = (at + 1) & mask) {
      const home = this.#hashOf((cells[at] as number) - 1) & mask
      if (((at - home) & mask) < ((at - hole) & mask)) continue
      cells[hole] = cells[at] as number
      hole = at
    }
    cells[hole] = 0
    this.#size--
  }

  #place(slot: number): void {
    const { cells, mask } = this
    let at = this.#hashOf(slot) & mask
    while (cells[at] !== 0) at = (at + 1) & mask
    cells[at] = slot + 1
  }

  #grow(length: number): void {
    const former = this.cells
    this.cells = new Int32Array(length)
    this.mask = this.cells.length - 1
    for (const cell of former) if (cell !== 0) this.#place(cell - 1)
  }
}
