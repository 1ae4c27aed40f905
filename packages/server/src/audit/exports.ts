import { partOf } from '../platform/concurrency/part-of.ts'
import { Refusal } from '../platform/refusal.ts'

/** Exports per process: each keeps a page of up to 128 KiB, and a connection only while it reads a page. */
export const exportsMax = 32
/** After this time an export may be ended in favour of another caller's, in ms. */
export const holdMs = 30_000

interface Export {
  readonly callerId: string
  readonly began: number
  bytes: number
  cut(): void
}

/** The place of a running export. */
export interface ExportPlace {
  /** Counts the bytes that the reader has taken. */
  took(bytes: number): void
  end(): void
}

/**
 * The running exports, one per workspace. An export older than half a minute ends when another caller of the workspace
 * begins one; when all places are taken, the slowest such export ends for another workspace. So slow readers block neither
 * their own workspace nor other ones. A client can continue after its last complete line.
 */
export class Exports {
  readonly #monotonic: () => number
  readonly #most: number
  readonly #underWay = new Map<string, Export>()

  /** @param monotonic milliseconds. @param processes among which the places are divided. */
  constructor(monotonic: () => number, processes = 1) {
    this.#monotonic = monotonic
    this.#most = partOf(exportsMax, processes)
  }

  get underWay(): number {
    return this.#underWay.size
  }

  /**
   * @param callerId the credential or the person that reads the export.
   * @param cut ends this export at once, in favour of another one.
   * @throws {Refusal} `too_many_requests`.
   */
  begin(workspaceId: string, callerId: string, cut: () => void): ExportPlace {
    this.#endOfAnother(workspaceId, callerId)
    if (this.#underWay.size >= this.#most && !this.#endSlowest())
      throw tooMany('Too many exports are running. Try again in a moment.')
    const own: Export = { callerId, began: this.#monotonic(), bytes: 0, cut }
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

  /** @throws {Refusal} unless the workspace has no export, or an export of another caller that has had its time. */
  #endOfAnother(workspaceId: string, callerId: string): void {
    const running = this.#underWay.get(workspaceId)
    if (running === undefined) return
    if (running.callerId === callerId || this.#monotonic() - running.began < holdMs)
      throw tooMany('Another export of this workspace is running.')
    this.#underWay.delete(workspaceId)
    running.cut()
  }

  /** @returns whether an export ended to make space. */
  #endSlowest(): boolean {
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
