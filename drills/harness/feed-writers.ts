import pg from 'pg'
import type { Seeded } from '../../packages/server/test/seeded.ts'
import type { FeedHouse } from './feed-house.ts'

/** The acts of a writer, in sequence. `bump` calls the service's own function, which assigns the version. */
export type Act = 'begin' | 'touch' | 'bump' | 'commit' | 'rollback'

export interface Script {
  acts: readonly Act[]
  /** Keys that it changes: no other writer's in the same round. */
  keys: readonly string[]
}

/** Committed changes of a project by their version, as the writers received it. */
export type Committed = Map<number, readonly string[]>

/** One transaction on a separate connection, done act by act. */
export class Writer {
  readonly #client: pg.Client
  readonly #observer: pg.Client
  readonly #pid: number
  #script: Script = { acts: [], keys: [] }
  #at = 0
  #versions: number[] = []
  #touched = ''
  #settled = true
  #pending: Promise<void> = Promise.resolve()

  private constructor(client: pg.Client, observer: pg.Client, pid: number) {
    this.#client = client
    this.#observer = observer
    this.#pid = pid
  }

  static async open({ connection, client }: FeedHouse): Promise<Writer> {
    const own = new pg.Client(connection)
    await own.connect()
    const { rows } = await own.query('select pg_backend_pid() as pid')
    return new Writer(own, client, rows[0].pid)
  }

  take(script: Script, marker: string): void {
    this.#script = script
    this.#touched = marker
    this.#at = 0
    this.#versions = []
  }

  get isDone(): boolean {
    return this.#at === this.#script.acts.length && this.#settled
  }

  /** Its last act has not returned: it waits for a lock. */
  get isWaiting(): boolean {
    return !this.#settled
  }

  /** Between its first bump and its end. */
  get holdsHead(): boolean {
    return this.#settled && this.#versions.length > 0 && !this.isDone
  }

  /** Resolves when the act that it waits in has returned. */
  get pending(): Promise<void> {
    return this.#pending
  }

  /** @returns the act, once it has returned or is seen to wait. */
  async step(projectId: string, workspaceId: string, committed: Committed): Promise<Act> {
    const act = this.#script.acts[this.#at] as Act
    this.#at += 1
    this.#settled = false
    this.#pending = this.#do(act, projectId, workspaceId, committed).finally(() => {
      this.#settled = true
    })
    while (!this.#settled && !(await this.#waitsForLock())) await Promise.race([this.#pending, turn()])
    return act
  }

  async close(): Promise<void> {
    await this.#client.end()
  }

  async #do(act: Act, projectId: string, workspaceId: string, committed: Committed): Promise<void> {
    const { keys } = this.#script
    if (act === 'touch') {
      await this.#client.query('update api_keys set scopes = array[$2] where id = any($1)', [
        keys,
        this.#touched,
      ])
    } else if (act === 'bump') {
      const { rows } = await this.#client.query('select policy_changed($1, $2, $3)::int as version', [
        workspaceId,
        projectId,
        keys,
      ])
      this.#versions.push(rows[0].version)
    } else {
      await this.#client.query(act)
      if (act === 'commit') for (const version of this.#versions) committed.set(version, keys)
    }
  }

  async #waitsForLock(): Promise<boolean> {
    const { rows } = await this.#observer.query(
      `select wait_event_type = 'Lock' as waits from pg_stat_activity where pid = $1`,
      [this.#pid],
    )
    return rows[0]?.waits === true
  }
}

const turn = () => new Promise<void>(resolve => setImmediate(resolve))

/** Every order of two transactions that each begin, bump and end, with each possible end: 80. */
export function everyOrderOfTwo(): { acts: Act[][]; order: number[] }[] {
  const all: { acts: Act[][]; order: number[] }[] = []
  const ends = ['commit', 'rollback'] as const
  for (let bits = 0; bits < 64; bits += 1) {
    const order = Array.from({ length: 6 }, (_, at) => (bits >> at) & 1)
    if (order.filter(who => who === 1).length !== 3) continue
    for (const first of ends) {
      for (const second of ends) {
        all.push({ acts: [first, second].map(end => ['begin', 'bump', end]), order })
      }
    }
  }
  return all
}

/** A transaction that bumps once or twice and changes its keys before or after. */
export function randomActs(random: Seeded): Act[] {
  const middle = random.pick<Act[]>([
    ['touch', 'bump'],
    ['bump', 'touch'],
    ['bump', 'touch', 'bump'],
    ['bump'],
  ])
  return ['begin', ...middle, random.integer(4) === 0 ? 'rollback' : 'commit']
}
