import type pg from 'pg'
import { readWorkspaceFacts } from '../gate/workspace-facts.ts'
import type { Clock } from '../platform/clock.ts'
import { createAllowance, type ProjectEnv } from '../platform/db/lanes/allowance.ts'
import type { Errands } from '../platform/db/pool/errands.ts'
import type { Logger } from '../platform/observe/log.ts'
import { addStoredBytes, sumStoredBytes } from './sql.ts'

/** How many bytes of stored answers each project has, and may have. Requests that store answers do not wait for it. */
export interface StoredBytes {
  hasQuota(place: ProjectEnv, bytes: number): boolean
  /** Counts an answer that was stored. */
  add(place: ProjectEnv, bytes: number, ttlMs: number): void
  /** The part of its limit that the fullest project has used; 1 is at the limit. */
  nearest(): number
  /** Writes the counts of this process to the store. A timer does so every ten seconds. */
  flush(): Promise<void>
  close(): Promise<void>
}

const statementMs = 5_000
/** How often counts are written. A process that is killed loses so much of them. */
const flushMs = 10_000
/** The bytes of a row besides headers and body. */
const rowBytes = 512
const hourMs = 3_600_000
/** A workspace may have so much of its limits until an owner has verified an address. */
const unprovenPart = 1 / 10
/** Stands for the project of a credential that is not bound to one: a record does not say whose request it is. */
export const noProject = '00000000-0000-0000-0000-000000000000'

/** Bytes that are not written yet, of one place and time to live. */
interface Unwritten {
  readonly place: ProjectEnv
  readonly hours: number
  bytes: number
}

/** The parameters of `addStoredBytes`. */
const columnsOf = (counts: readonly Unwritten[]): unknown[][] => [
  counts.map(({ place }) => place.workspaceId),
  counts.map(({ place }) => place.env),
  counts.map(({ place }) => place.projectId),
  counts.map(({ hours }) => hours),
  counts.map(({ bytes }) => bytes),
]

export function openStoredBytes(
  errands: Pick<Errands, 'ask'>,
  limit: number,
  { monotonic }: Clock,
  log: Pick<Logger, 'warn'>,
): StoredBytes {
  let unwritten = new Map<string, Unwritten>()
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> = Promise.resolve()

  const ask = <Found>(work: (client: pg.Client) => Promise<Found>): Promise<Found> =>
    errands.ask('stored answers', statementMs, work)
  const note = (place: ProjectEnv, hours: number, bytes: number) => {
    const { workspaceId, env, projectId } = place
    const name = `${workspaceId} ${env} ${projectId} ${hours}`
    const own = unwritten.get(name)
    if (own === undefined) unwritten.set(name, { place, hours, bytes })
    else own.bytes += bytes
    timer ??= setTimeout(() => void flush(), flushMs).unref()
  }
  const writeAll = async () => {
    clearTimeout(timer)
    timer = undefined
    if (unwritten.size === 0) return
    const counts = [...unwritten.values()]
    unwritten = new Map()
    try {
      await ask(client => client.query(addStoredBytes.text, columnsOf(counts)))
    } catch (error) {
      log.warn({ err: error }, 'the bytes of stored answers could not be written')
      for (const { place, hours, bytes } of counts) note(place, hours, bytes)
    }
  }
  const flush = () => {
    flushing = flushing.then(writeAll)
    return flushing
  }
  const allowance = createAllowance({
    limit,
    unprovenPart,
    monotonic,
    log,
    async count({ workspaceId, env, projectId }) {
      await flush()
      return await ask(async client => {
        const facts = await readWorkspaceFacts(client, workspaceId)
        const { rows } = await client.query(sumStoredBytes.text, [workspaceId, env, projectId])
        // A credential that is not bound to a project stores for none in particular, which is one more.
        return { ...facts, projectIds: [...facts.projectIds, noProject], held: Number(rows[0].bytes) }
      })
    },
  })

  return {
    hasQuota: (place, bytes) => allowance.hasQuota(place, rowBytes + bytes),
    add(place, bytes, ttlMs) {
      allowance.add(place, rowBytes + bytes)
      note(place, Math.ceil(ttlMs / hourMs), rowBytes + bytes)
    },
    nearest: () => allowance.nearest(),
    flush,
    async close() {
      await allowance.close()
      await flush()
      clearTimeout(timer)
    },
  }
}
