import { unprovenPart } from '../counter-rows.ts'
import type { ServerMemory } from './memory.ts'

/** Bytes of a unit, about: a key with one counter, measured with Redis 8 and Valkey. */
export const unitBytes = 400
/** Bytes of the first key of a project, which also makes the hash with the project's sum. */
const firstUnitBytes = 800
/** From this used part of a server's memory on, the free memory limits new counters. */
const tightPart = 3 / 4
/** A payer that holds more than this part of the free memory can add no counters. */
const freePart = 1 / 4
/** A payer may always hold so many units, as long as the server accepts them. */
const leastUnits = 64
/** The memory is read again when this process may have filled this part of it. */
const unreadPart = 1 / 64

/**
 * How much a payer may hold on a server that is nearly full: a part of the free memory. So some memory stays free however many
 * payers fill it, and a payer that holds little can still add counters. Each payer's part shrinks as the free memory does.
 */
export class RedisPressure {
  /** Free bytes, by nearly full server. */
  readonly #free = new Map<string, number>()
  #servers = 1
  /** Units that this process has added since the memory was read, and the number at which the memory is read again. */
  #added = 0
  #addedMost = Number.POSITIVE_INFINITY

  /** Takes the memory of all servers. */
  learn(servers: readonly ServerMemory[]): void {
    this.#free.clear()
    this.#servers = servers.length
    this.#added = 0
    this.#addedMost = Number.POSITIVE_INFINITY
    for (const { place, most, used } of servers) {
      if (most === null) continue
      if (used >= most * tightPart) this.#free.set(place, Math.max(0, most - used))
      this.#addedMost = Math.min(this.#addedMost, (most * unreadPart) / firstUnitBytes)
    }
  }

  get isTight(): boolean {
    return this.#free.size > 0
  }

  /** Counts added units. @returns whether the memory is to be read again. */
  add(units: number): boolean {
    this.#added += units
    return this.#added >= this.#addedMost
  }

  /** The most units of a payer, on all servers together; null: this server has memory enough. */
  mostAt(place: string, isProven: boolean): number | null {
    const free = this.#free.get(place)
    if (free === undefined) return null
    const units = Math.max(0, free - this.#added * firstUnitBytes) / unitBytes
    const part = freePart * (isProven ? 1 : unprovenPart)
    return Math.max(leastUnits, Math.floor(units * this.#servers * part))
  }
}
