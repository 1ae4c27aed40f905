import { backoffMs } from './fleet-backoff.ts'
import { FleetConnection } from './fleet-connection.ts'

/** How all nodes of a fleet ask. */
export type Asking = {
  url: string
  /** Path and query, without `since` and `node`. */
  path: string
  headers: Readonly<Record<string, string>>
  /** The version that nodes hold at first. */
  version: number
  /** From the start of one poll to the start of the next, times 0.9 to 1.0. */
  intervalMs: number
  /** Seconds for which an unchanged answer may be held (`Prefer: wait`); null: nodes poll. */
  waitSeconds: number | null
}

/** Events of a node while it runs. */
export type Ear = {
  /** A key, each time that an answer names it. */
  tombstone(keyId: string): void
  /** A poll was answered correctly; `lateMs` is how much later than due it was sent. */
  polled(lateMs: number): void
  /** Answered 503: the service is overloaded, or says so. The node asks again. */
  refused(): void
  wrong(why: string): void
}

/** Between the starts of two held polls, as in the SDK, in milliseconds. */
const floorMs = 100

/**
 * One node of a fleet. The service cannot distinguish it from a real one: it polls like the SDK, but keeps only the
 * version of its policy.
 */
export class FleetNode {
  readonly #asking: Asking
  readonly #name: string
  readonly #ear: Ear
  readonly #connection: FleetConnection
  readonly #headerLines: string
  #version: number
  #etag: string | undefined
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #stopped = false

  private constructor(asking: Asking, name: string, ear: Ear, connection: FleetConnection) {
    this.#asking = asking
    this.#name = name
    this.#ear = ear
    this.#connection = connection
    this.#version = asking.version
    const { headers, waitSeconds } = asking
    const prefer = waitSeconds === null ? {} : { prefer: `wait=${waitSeconds}` }
    this.#headerLines = Object.entries({ accept: 'application/json', ...headers, ...prefer })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')
  }

  /** Connected, and silent until it is started. */
  static async connect(asking: Asking, name: string, ear: Ear): Promise<FleetNode> {
    return new FleetNode(asking, name, ear, await FleetConnection.open(new URL(asking.url)))
  }

  /** @param inMs until the first poll */
  start(inMs: number): void {
    const due = performance.now() + inMs
    this.#timer = setTimeout(() => void this.#poll(due), inMs)
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#connection.close()
  }

  async #poll(due: number): Promise<void> {
    const startedAt = performance.now()
    const { path, intervalMs, waitSeconds } = this.#asking
    const tag = this.#etag === undefined ? '' : `if-none-match: ${this.#etag}\r\n`
    let text = ''
    try {
      const { status, etag } = await this.#connection.ask(
        `${path}&since=${this.#version}&node=${this.#name}`,
        this.#headerLines + tag,
        piece => {
          text += piece.toString('latin1')
        },
      )
      if (status === 503) {
        this.#ear.refused()
        this.start(backoffMs(++this.#failures))
        return
      }
      this.#failures = 0
      if (status === 200) {
        this.#etag = etag
        this.#apply(text)
      } else if (status !== 304) throw new Error(`a poll was answered ${status}: ${text}`)
      this.#ear.polled(startedAt - due)
    } catch (error) {
      if (!this.#stopped) this.#ear.wrong(error instanceof Error ? error.message : String(error))
      return
    }
    const tookMs = performance.now() - startedAt
    this.start(
      waitSeconds === null
        ? Math.max(0, intervalMs * (0.9 + 0.1 * Math.random()) - tookMs)
        : Math.max(0, floorMs - tookMs),
    )
  }

  /** @throws Error when the answer is not a delta of tombstones to a later version */
  #apply(text: string): void {
    const { object, version, changes } = JSON.parse(text)
    if (object !== 'policy_delta') throw new Error(`expected a delta, got ${object}`)
    if (!(version >= this.#version)) throw new Error(`from ${this.#version} back to version ${version}`)
    for (const { change, key_id } of changes) {
      if (change !== 'tombstone') throw new Error(`${change} of ${key_id}, which did not change`)
      this.#ear.tombstone(key_id)
    }
    this.#version = version
  }
}
