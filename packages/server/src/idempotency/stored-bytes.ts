import type { Clock } from '../platform/clock.ts'
import { createAllowance } from '../platform/db/allowance.ts'
import type { Connection } from '../platform/db/connection.ts'
import { connectPrimary } from '../platform/db/timeline.ts'
import type { Logger } from '../platform/log.ts'
import { addStoredBytes, sumStoredBytes } from './sql.ts'

/** How many bytes of stored answers a workspace has, and may have. Nobody who stores one waits for it. */
export interface StoredBytes {
  hasRoom(workspaceId: string, bytes: number): boolean
  /** Notes an answer that was stored. */
  add(workspaceId: string, bytes: number, ttlMs: number): void
  /** How near the workspace that is nearest to the limit is to it. */
  nearest(): number
  /** Tells the store what it does not know yet, which happens by itself every ten seconds. */
  tell(): Promise<void>
  close(): Promise<void>
}

/** What a process has written is told to the store so often; a process that is killed forgets so much. */
const flushMs = 10_000
/** What an answer takes beside its headers and its body. */
const rowBytes = 512
const hourMs = 3_600_000

export function openStoredBytes(
  connection: Connection,
  limit: number,
  { monotonic }: Clock,
  log: Pick<Logger, 'warn'>,
): StoredBytes {
  /** Bytes by workspace and hours to live, which the store has not been told of. */
  let untold = new Map<string, { workspaceId: string; hours: number; bytes: number }>()
  let timer: NodeJS.Timeout | undefined
  let telling: Promise<void> = Promise.resolve()

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
    const own = untold.get(name)
    if (own === undefined) untold.set(name, { workspaceId, hours, bytes })
    else own.bytes += bytes
    timer ??= setTimeout(() => void tell(), flushMs).unref()
  }
  const tellNow = async () => {
    clearTimeout(timer)
    timer = undefined
    if (untold.size === 0) return
    const told = [...untold.values()]
    untold = new Map()
    try {
      await ask(addStoredBytes.text, [
        told.map(({ workspaceId }) => workspaceId),
        told.map(({ hours }) => hours),
        told.map(({ bytes }) => bytes),
      ])
    } catch (error) {
      log.warn({ err: error }, 'the bytes of stored answers could not be noted')
      for (const { workspaceId, hours, bytes } of told) note(workspaceId, hours, bytes)
    }
  }
  const tell = () => {
    telling = telling.then(tellNow)
    return telling
  }
  const allowance = createAllowance({
    limit,
    monotonic,
    log,
    async count(workspaceId) {
      await tell()
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
    tell,
    async close() {
      await allowance.close()
      await tell()
      clearTimeout(timer)
    },
  }
}
