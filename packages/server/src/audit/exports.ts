import { Refusal } from '../platform/refusal.ts'

/** Exports of one process: each holds a page of up to 128 KiB, and a connection only while it reads one. */
export const exportsMax = 32
/** Who has held a place for so long may have to give it to somebody else, in ms. */
export const holdMs = 30_000

interface Export {
  readonly began: number
  bytes: number
  cut(): void
}

/** A place to export in. */
export interface ExportPlace {
  /** Notes what the reader has taken. */
  took(bytes: number): void
  end(): void
}

/**
 * Who exports at the moment: one reader a workspace. When all places are taken, the slowest of those who had half a
 * minute gives way, so that nobody keeps others out by reading slowly. An export that was cut off goes on behind its last
 * whole line.
 */
export class Exports {
  readonly #monotonic: () => number
  readonly #underWay = new Map<string, Export>()

  /** @param monotonic milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  get underWay(): number {
    return this.#underWay.size
  }

  /**
   * @param cut ends this export at once, for somebody else.
   * @throws {Refusal} `too_many_requests`.
   */
  begin(workspaceId: string, cut: () => void): ExportPlace {
    if (this.#underWay.has(workspaceId)) throw tooMany('Another export of this workspace is under way.')
    if (this.#underWay.size >= exportsMax && !this.#makeRoom())
      throw tooMany('Other exports are under way; try again in a moment.')
    const own: Export = { began: this.#monotonic(), bytes: 0, cut }
    this.#underWay.set(workspaceId, own)
    return {
      took(bytes) {
        own.bytes += bytes
      },
      end: () => {
        if (this.#underWay.get(workspaceId) === own) this.#underWay.delete(workspaceId)
      },
    }
  }

  /** @returns whether somebody has given way. */
  #makeRoom(): boolean {
    const now = this.#monotonic()
    let slowest: { name: string; one: Export; rate: number } | null = null
    for (const [name, one] of this.#underWay) {
      const ms = now - one.began
      const rate = one.bytes / ms
      if (ms >= holdMs && (slowest === null || rate < slowest.rate)) slowest = { name, one, rate }
    }
    if (slowest === null) return false
    this.#underWay.delete(slowest.name)
    slowest.one.cut()
    return true
  }
}

const tooMany = (detail: string) =>
  new Refusal('too_many_requests', detail, { headers: { 'retry-after': '5' } })
