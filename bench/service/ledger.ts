import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFault } from '../harness/bench.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import { call, type Vendor } from './vendor.ts'

/** What stands in the workspaces of an arm. */
export type Ledger = {
  /** Keys and tenants, each of which one 201 has told of. */
  created: number
  auditRows: number
  /** Where the heads say that the chains end, summed up. */
  headSeqs: number
}

const LOOK_EVERY_MS = 50

/** Reads it in one snapshot, once the requests that the end of a load has cut off have come to theirs. */
export async function settledLedger(postgres: ScratchPostgres, vendors: readonly Vendor[]): Promise<Ledger> {
  let before = await ledgerOf(postgres, vendors)
  for (;;) {
    await sleep(LOOK_EVERY_MS)
    const after = await ledgerOf(postgres, vendors)
    if (after.created === before.created) return after
    before = after
  }
}

async function ledgerOf({ query }: ScratchPostgres, vendors: readonly Vendor[]): Promise<Ledger> {
  const count = (table: string) => `(select count(*) from ${table} where workspace_id = any($1::uuid[]))::int`
  const [row] = await query(
    `select ${count('api_keys')} + ${count('tenants')} as created, ${count('audit_logs')} as "auditRows",
       (select sum(seq) from audit_heads where workspace_id = any($1::uuid[]))::int as "headSeqs"`,
    [vendors.map(vendor => vendor.workspaceId)],
  )
  return row as Ledger
}

/**
 * Holds the rows against the answers: each 201 has its row, and beyond those there are at most as many as
 * connections were cut off with a request under way. With audit, each row has its audit row; without, none.
 *
 * @throws BenchFault naming the figures that do not fit
 */
export function requireRows(
  before: Ledger,
  after: Ledger,
  { answered, cutOff, audited }: { answered: number; cutOff: number; audited: boolean },
): void {
  const created = after.created - before.created
  const auditRows = after.auditRows - before.auditRows
  const heads = after.headSeqs - before.headSeqs
  const expected = audited ? created : 0
  if (created >= answered && created <= answered + cutOff && auditRows === expected && heads === expected)
    return
  throw new BenchFault(
    `${answered} answers of 201, at most ${cutOff} cut off, but ${created} rows, ${auditRows} audit rows, ` +
      `heads moved by ${heads} (audit ${audited ? 'on' : 'off'})`,
  )
}

/** Lets the service re-derive each chain, one at a time since it takes but two. */
export async function requireChains(
  url: string,
  vendors: readonly Vendor[],
  auditRows: number,
): Promise<void> {
  let checked = 0
  for (const { token, workspaceId } of vendors) {
    const chain = await call(url, token, '/v1/audit_logs/chain')
    if (chain.valid !== true) throw new BenchFault(`${workspaceId}: ${JSON.stringify(chain)}`)
    checked += Number(chain.checked)
  }
  if (checked !== auditRows) throw new BenchFault(`${checked} audit rows verified of ${auditRows}`)
}
