import type pg from 'pg'
import { faultsOf } from '../../packages/server/test/whole.ts'
import type { Api } from './api.ts'
import { isAcknowledged, isOvertaken, makeSent, type Sent, sendMutation } from './load.ts'

/** The comparison of a load's answers with the database. */
export interface Diff {
  acknowledged: number
  /** Acknowledged mutations that are missing, or present more than once. */
  lost: number
  unacknowledged: number
  /** Unacknowledged mutations that happened all the same. */
  happened: number
  /** Repeated with the same Idempotency-Key. */
  replayed: number
  broken: string[]
}

interface AuditRow {
  workspace_id: string
  action: string
  target_id: string
  payload: string
}

/**
 * Compares the answers that clients got with the database: every acknowledged mutation is there once, with one audit
 * row; every other one once or not at all; and each is complete. Then repeats requests with the same Idempotency-Key.
 *
 * @param prefix the load's
 * @param client a direct connection; nothing of the service may still be at work behind it
 */
export async function diffLoad(
  api: Api,
  client: pg.Client,
  { sent, prefix, workspaceIds }: { sent: readonly Sent[]; prefix: string; workspaceIds: readonly string[] },
): Promise<Diff> {
  const query = async (text: string, values?: unknown[]) => (await client.query(text, values)).rows
  const created = await query('select workspace_id as id from workspace_slugs where slug like $1', [
    `${prefix}-%`,
  ])
  const touched = [...new Set([...workspaceIds, ...created.map(({ id }) => id as string)])]
  const logged = (await query(
    'select workspace_id, action, target_id, payload from audit_logs where workspace_id = any($1::uuid[])',
    [touched],
  )) as AuditRow[]
  const index = indexOf(logged)
  const diff: Diff = { acknowledged: 0, lost: 0, unacknowledged: 0, happened: 0, replayed: 0, broken: [] }

  for (const one of sent) {
    const rows = index.get(indexKey(one)) ?? []
    const line = describe(one)
    if (one.hung) diff.broken.push(`${line}: the socket hung`)
    if (isAcknowledged(one)) {
      diff.acknowledged += 1
      if (rows.length !== 1) {
        diff.lost += 1
        diff.broken.push(`${line}: acknowledged, ${rows.length} audit rows`)
      } else diff.broken.push(...answerFaults(one, rows[0] as AuditRow).map(fault => `${line}: ${fault}`))
    } else {
      diff.unacknowledged += 1
      if (rows.length > 1) diff.broken.push(`${line}: not acknowledged, ${rows.length} audit rows`)
      if (rows.length > 0) diff.happened += 1
      if (one.answer !== null)
        diff.broken.push(...refusalFaults(one.answer, rows.length).map(fault => `${line}: ${fault}`))
    }
  }
  for (const id of touched)
    diff.broken.push(...(await faultsOf(query, id)).map(fault => `workspace ${id}: ${fault}`))
  await askAgain(api, sent, index, diff)
  return diff
}

function refusalFaults({ status, body }: NonNullable<Sent['answer']>, rows: number): string[] {
  if (isOvertaken(status, body?.code)) return rows === 0 ? [] : [`answered ${status}, ${rows} audit rows`]
  return status === 503 ? [] : [`answered ${status} ${body?.code}`]
}

/** The rows under one action: by target, and by each text in the payload. */
function indexOf(rows: readonly AuditRow[]): Map<string, AuditRow[]> {
  const index = new Map<string, AuditRow[]>()
  const put = (key: string, row: AuditRow) => index.set(key, [...(index.get(key) ?? []), row])
  for (const row of rows) {
    const { name } = JSON.parse(row.payload)
    const text = name?.new ?? name
    put(`${row.action} target ${row.target_id}`, row)
    if (typeof text === 'string') put(`${row.action} text ${text}`, row)
  }
  return index
}

const indexKey = ({ plan: { shows } }: Sent) => `${shows.action} ${shows.by} ${shows.value}`

const describe = ({ plan }: Sent) => `${plan.call[0]} ${plan.call[1]} (${plan.shows.value})`

/** The id of the resource that a create or rotate made, from its audit row. */
const madeId = (row: AuditRow): string => JSON.parse(row.payload).successor?.id ?? row.target_id

function answerFaults({ plan, answer }: Sent, row: AuditRow): string[] {
  const id = answer?.body?.id ?? answer?.body?.tenant_id
  const logged = plan.call[0] === 'POST' && plan.replayable ? madeId(row) : row.target_id
  return id === logged ? [] : [`answered ${id}, the log has ${logged}`]
}

/** How many are repeated at most: acknowledged ones, unacknowledged ones that happened, all others. */
const againMost = { acknowledged: 16, happened: 200, others: 64 }
/** Few enough for a service that has just come back. */
const atOnce = 8

async function askAgain(
  api: Api,
  sent: readonly Sent[],
  index: ReadonlyMap<string, AuditRow[]>,
  diff: Diff,
): Promise<void> {
  const replayable = sent.filter(one => one.replayKey !== null)
  const rowOf = (one: Sent) => index.get(indexKey(one))?.[0]
  const unknown = replayable.filter(one => !isAcknowledged(one))
  const again = [
    ...unknown.filter(one => rowOf(one) !== undefined).slice(-againMost.happened),
    ...unknown.filter(one => rowOf(one) === undefined).slice(-againMost.others),
    ...replayable.filter(isAcknowledged).slice(-againMost.acknowledged),
  ].values()
  const askInTurn = async () => {
    for (const one of again) {
      const repeat = makeSent(one.plan, one.replayKey)
      await sendMutation(api, repeat)
      diff.replayed += 1
      diff.broken.push(...repeatFaults(repeat, rowOf(one)).map(fault => `${describe(one)} again: ${fault}`))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, askInTurn))
}

function repeatFaults(repeat: Sent, row: AuditRow | undefined): string[] {
  const { answer, hung } = repeat
  if (answer === null) return [hung ? 'the socket hung' : 'no answer']
  const replayed = answer.headers['idempotent-replayed'] === 'true'
  if (row === undefined) {
    // It had not happened, so now it does, unless its parent was deleted meanwhile.
    if (isAcknowledged(repeat) && !replayed) return []
    return [404, 409].includes(answer.status) ? [] : [`answered ${answer.status}, replayed: ${replayed}`]
  }
  if (!isAcknowledged(repeat) || !replayed)
    return [`it had happened, but was answered ${answer.status} as if new`]
  if (answer.body.id !== madeId(row)) return [`gave ${answer.body.id} where it had made ${madeId(row)}`]
  return answer.body.key === undefined ? [] : ['returned the secret a second time']
}
