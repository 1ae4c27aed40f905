import type { Clock } from '../platform/clock.ts'
import { createAllowance } from '../platform/db/allowance.ts'
import type { Connection } from '../platform/db/connection.ts'
import { connectPrimary } from '../platform/db/timeline.ts'
import type { Logger } from '../platform/log.ts'
import { addStoredBytes, sumStoredBytes } from './sql.ts'

/** How many bytes of stored answers each workspace has, and may have. Requests that store answers do not wait for it. */
export interface StoredBytes {
  hasRoom(workspaceId: string, bytes: number): boolean
  /** Counts an answer that was stored. */
  add(workspaceId: string, bytes: number, ttlMs: number): void
  /** The part of the limit that the fullest workspace has used; 1 is at the limit. */
  nearest(): number
  /** Writes the counts of this process to the store. A timer does so every ten seconds. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** How often counts are written. A process that is killed loses so much of them. */
const flushMs = 10_000
/** The bytes of a row besides headers and body. */
const rowBytes = 512
const hourMs = 3_600_000

export function openStoredBytes(
  connection: Connection,
  limit: number,
  { monotonic }: Clock,
  log: Pick<Logger, 'warn'>,
): StoredBytes {
  /** Bytes that are not written yet, by workspace and hours to live. */
  let unwritten = new Map<string, { workspaceId: string; hours: number; bytes: number }>()
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> = Promise.resolve()

  const ask = async <Row>(text: string, values: unknown[]): Promise<Row[]> => {
    const client = await connectPrimary(connection, 'stored answers', false)
    try {
      await client.query(`set statement_timeout = '5s'; set lock_timeout = '1s'`)
      return (await client.query(text, values)).rows
    } finally {
      await client.end()
    }
  }
  const note = (workspaceId: string, hours: number, bytes: number) => {
    const name = `${workspaceId} ${hours}`
    const own = unwritten.get(name)
    if (own === undefined) unwritten.set(name, { workspaceId, hours, bytes })
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
      await ask(addStoredBytes.text, [
        counts.map(({ workspaceId }) => workspaceId),
        counts.map(({ hours }) => hours),
        counts.map(({ bytes }) => bytes),
      ])
    } catch (error) {
      log.warn({ err: error }, 'the bytes of stored answers could not be written')
      for (const { workspaceId, hours, bytes } of counts) note(workspaceId, hours, bytes)
    }
  }
  const flush = () => {
    flushing = flushing.then(writeAll)
    return flushing
  }
  const allowance = createAllowance({
    limit,
    monotonic,
    log,
    async count(workspaceId) {
      await flush()
      const [row] = await ask<{ bytes: string }>(sumStoredBytes.text, [workspaceId])
      return Number(row?.bytes ?? 0)
    },
  })

  return {
    hasRoom: (workspaceId, bytes) => allowance.hasRoom(workspaceId, rowBytes + bytes),
    add(workspaceId, bytes, ttlMs) {
      allowance.add(workspaceId, rowBytes + bytes)
      note(workspaceId, Math.ceil(ttlMs / hourMs), rowBytes + bytes)
    },
    nearest: allowance.nearest,
    flush,
    async close() {
      await allowance.close()
      await flush()
      clearTimeout(timer)
    },
  }
}
