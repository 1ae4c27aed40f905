import { setImmediate } from 'node:timers/promises'
import type { AuditChain } from '@keyrail/contract/vendor/audit'
import type pg from 'pg'
import { type Connection, connect, type Statement } from '../platform/db/connection.ts'
import { refusalOf } from '../platform/db/errors.ts'
import { Refusal } from '../platform/refusal.ts'
import { addressPaths } from './actions.ts'
import { addressHash, ChainVerifier, canonicalRow } from './chain.ts'
import { type AddressPageRow, addressPage, type ChainPageRow, chainHead, chainPage } from './sql.ts'

/** Rows a page: about a millisecond of hashing, after which other requests get their turn. */
const pageRows = 500
/** Runs of one process at a time; each keeps a connection and half a core busy. */
const mostRuns = 2

export type VerifyChain = (workspaceId: string) => Promise<AuditChain>

/**
 * Re-derives every hash of a workspace's chain in one snapshot, in constant memory. Those who ask while a run
 * of their workspace is under way share its result; a third workspace is told to come back.
 */
export function createVerifyChain(connection: Connection): VerifyChain {
  const runs = new Map<string, Promise<AuditChain>>()
  return workspaceId => {
    const running = runs.get(workspaceId)
    if (running !== undefined) return running
    if (runs.size >= mostRuns) {
      throw new Refusal('too_many_requests', 'Other chains are being verified; try again in a moment.', {
        headers: { 'retry-after': '1' },
      })
    }
    const run = verify(connection, workspaceId).finally(() => runs.delete(workspaceId))
    runs.set(workspaceId, run)
    return run
  }
}

async function verify(connection: Connection, workspaceId: string): Promise<AuditChain> {
  let client: pg.Client | null = null
  try {
    client = await connect({ ...connection, query_timeout: 1_900 }, 'audit chain', false)
    await client.query('begin transaction isolation level repeatable read read only')
    const ask = async <Row>(statement: Statement, values: unknown[]): Promise<Row[]> =>
      (await (client as pg.Client).query({ ...statement, values })).rows
    const verifier = new ChainVerifier(workspaceId)
    await takeRows(ask, workspaceId, verifier)
    await checkAddresses(ask, workspaceId, verifier)
    const [head] = await ask<{ seq: number; hash: Buffer }>(chainHead, [workspaceId])
    const { checked, fault } = verifier.end(head ?? null)
    return {
      object: 'audit_chain',
      valid: fault === null,
      checked,
      first_bad_seq: fault?.seq ?? null,
      reason: fault?.reason ?? null,
      head_seq: head?.seq ?? null,
      head_hash: head?.hash.toString('hex') ?? null,
    }
  } catch (error) {
    throw refusalOf(error)
  } finally {
    await client?.end().catch(() => {})
  }
}

type Ask = <Row>(statement: Statement, values: unknown[]) => Promise<Row[]>

async function takeRows(ask: Ask, workspaceId: string, verifier: ChainVerifier): Promise<void> {
  // Below every seq, so that a row smuggled in before the first shows too.
  let from = Number.MIN_SAFE_INTEGER
  for (let isFirst = true; ; isFirst = false) {
    // A page begins with the last row of the page before: should that have a double, it comes right behind.
    const rows = await ask<ChainPageRow>(chainPage, [workspaceId, from, pageRows])
    for (const row of isFirst ? rows : rows.slice(1)) {
      const canonical = canonicalRow({
        seq: row.seq,
        workspaceId,
        action: row.action,
        actorType: row.actor_type,
        actorId: row.actor_id,
        targetType: row.target_type,
        targetId: row.target_id,
        env: row.env,
        createdAt: row.created_at,
        payload: row.payload,
      })
      if (!verifier.take(row.seq, canonical, row.prev_hash, row.hash)) return
      from = row.seq
    }
    if (rows.length < pageRows) return
    await setImmediate()
  }
}

/** An address that was not erased must be the one whose hash the chain holds. */
async function checkAddresses(ask: Ask, workspaceId: string, verifier: ChainVerifier): Promise<void> {
  let from: [number, string] = [Number.MIN_SAFE_INTEGER, '']
  for (let isFirst = true; ; isFirst = false) {
    const rows = await ask<AddressPageRow>(addressPage, [workspaceId, ...from, pageRows])
    for (const row of isFirst ? rows : rows.slice(1)) {
      const isDouble = row.seq === from[0] && row.path === from[1]
      if (isDouble || !addressHolds(row)) return verifier.refuse(row.seq)
      from = [row.seq, row.path]
    }
    if (rows.length < pageRows) return
    await setImmediate()
  }
}

function addressHolds(row: AddressPageRow): boolean {
  if (!addressPaths[row.action]?.includes(row.path)) return false
  const steps = `${row.path}_hash`.split('.')
  const named = steps.reduce<unknown>(
    (at, step) => (at as Record<string, unknown> | undefined)?.[step],
    JSON.parse(row.payload),
  )
  return named === addressHash(row.salt, row.address)
}
