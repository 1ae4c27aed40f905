import { setImmediate } from 'node:timers/promises'
import type { DerivedChain } from '@keyrail/contract/vendor/audit'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { Connection, Statement } from '../platform/db/connection.ts'
import { refusalOf } from '../platform/db/errors.ts'
import { connectPrimary } from '../platform/db/failover/timeline.ts'
import { Refusal } from '../platform/refusal.ts'
import { addressPaths } from './actions.ts'
import { addressHash, ChainVerifier, canonicalRow } from './chain.ts'
import { type CopiedRow, CopiedRows } from './copied-rows.ts'
import { type AddressPageRow, addressPage, chainCopy, chainHead } from './sql.ts'

/** Side rows per page. */
const pageRows = 500
/** When the database sends nothing for this long, the run fails. */
const silentMs = 1_900

/** Called with the progress of a run: once it has begun, and about a hundred times until its end. */
export type Watch = (step: ChainStep) => void

export interface ChainStep {
  /** Rows that verify so far. */
  readonly checked: number
  /** Rows that the head claims. */
  readonly rows: number
}

/**
 * Derives every hash of a workspace's chain again, from one snapshot.
 * @throws {Refusal} `unavailable` when the database does not respond.
 */
export async function verify(
  connection: Connection,
  workspaceId: string,
  watch: Watch,
): Promise<DerivedChain> {
  let client: pg.Client | null = null
  let whole = false
  try {
    client = await connectPrimary(connection, 'audit chain', false)
    const ask = async <Row>(statement: Statement, values: unknown[]): Promise<Row[]> => {
      const question = { ...statement, values, query_timeout: silentMs }
      return (await (client as pg.Client).query(question)).rows
    }
    await client.query('begin transaction isolation level repeatable read read only')
    const [head] = await ask<{ seq: number; hash: Buffer }>(chainHead, [workspaceId])
    const rows = head?.seq ?? 0
    watch({ checked: 0, rows })
    const badAddress = await firstBadAddress(ask, workspaceId)
    const verifier = new ChainVerifier(workspaceId)
    whole = await takeRows(client, workspaceId, verifier, everyHundredth(rows, watch))
    if (badAddress !== null) verifier.refuse(badAddress)
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
    if (whole) await client?.end().catch(() => {})
    // While rows are being sent, Postgres would read a regular end of the connection only after the last row.
    else (client as unknown as Cuttable | null)?.connection.stream.destroy()
  }
}

type Cuttable = { connection: { stream: { destroy(): void } } }

/** Reports every hundredth part of the rows, so that a long chain costs no more messages than a short one. */
function everyHundredth(rows: number, watch: Watch): (checked: number) => void {
  const part = Math.max(Math.ceil(rows / 100), 1)
  let next = part
  return checked => {
    if (checked < next) return
    next = checked + part
    watch({ checked, rows })
  }
}

/**
 * @param advanced gets the number of verified rows, after each piece.
 * @returns whether it read to the end; it stops at the first invalid row.
 */
async function takeRows(
  client: pg.Client,
  workspaceId: string,
  verifier: ChainVerifier,
  advanced: (checked: number) => void,
): Promise<boolean> {
  const copy = client.query(copyTo(chainCopy(workspaceId)))
  let received = 0
  const silence = setTimeout(async () => {
    const before = received
    // If this thread was not scheduled, its timer fired late too: read the data that has arrived before giving up.
    await setImmediate()
    if (received === before) copy.destroy(new Refusal('unavailable'))
  }, silentMs)
  const rows = new CopiedRows(workspaceId)
  const take = (row: CopiedRow) => {
    const { seq, prevHash, hash } = row
    return verifier.take({ seq, canonical: canonicalRow(row), prevHash, hash })
  }
  try {
    for await (const chunk of copy) {
      received += 1
      silence.refresh()
      if (!rows.read(chunk, take)) return false
      advanced(verifier.checked)
    }
    return true
  } finally {
    clearTimeout(silence)
  }
}

type Ask = <Row>(statement: Statement, values: unknown[]) => Promise<Row[]>

/** Finds the first address that does not match its hash in the chain. */
async function firstBadAddress(ask: Ask, workspaceId: string): Promise<number | null> {
  let from: [number, string] = [Number.MIN_SAFE_INTEGER, '']
  for (let isFirst = true; ; isFirst = false) {
    const rows = await ask<AddressPageRow>(addressPage, [workspaceId, ...from, pageRows])
    for (const row of isFirst ? rows : rows.slice(1)) {
      const isDouble = row.seq === from[0] && row.path === from[1]
      if (isDouble || !addressHolds(row)) return row.seq
      from = [row.seq, row.path]
    }
    if (rows.length < pageRows) return null
    await setImmediate()
  }
}

function addressHolds(row: AddressPageRow): boolean {
  if (!addressPaths[row.action]?.includes(row.path)) return false
  const steps = `${row.path}_hash`.split('.')
  try {
    const named = steps.reduce<unknown>(
      (at, step) => (at as Record<string, unknown> | undefined)?.[step],
      JSON.parse(row.payload),
    )
    return named === addressHash(row.salt, row.address)
  } catch {
    // A role that owns the tables can drop their constraints, and write what is neither JSON nor an address.
    return false
  }
}
