import { type Seeded, seeded } from '../../packages/server/test/seeded.ts'
import { type Leaking, type LeakStage, onLeakStage } from './leak-stage.ts'
import { until } from './pauses.ts'

/** Obstructs one token. @returns a function that removes the obstacle. */
type Obstacle = (stage: LeakStage, victim: Leaking) => Promise<() => Promise<void>>

/** A trigger that raises for the victim's rows alone. */
const raising =
  (tableOf: (victim: Leaking) => string, events: string, column: string): Obstacle =>
  async ({ query }, victim) => {
    const table = tableOf(victim)
    await query(`create function drill_refuse() returns trigger language plpgsql as $$
      begin if new.${column} = '${victim.id}' then raise 'the drill refuses'; end if; return new; end $$`)
    await query(
      `create trigger drill_refuse before ${events} on ${table} for each row execute function drill_refuse()`,
    )
    return async () => void (await query('drop function drill_refuse() cascade'))
  }

export const obstacles: Record<string, Obstacle> = {
  'its row cannot be written': raising(({ table }) => table, 'update', 'id'),
  'its row is held': ({ hold }, { table, id }) => hold(`select from ${table} where id = $1 for update`, [id]),
  'its audit row cannot be written': raising(() => 'audit_logs', 'insert', 'target_id'),
  'its mail cannot be queued': raising(() => 'leak_reports', 'insert', 'credential_id'),
}
/** The service itself dies during a delivery. */
export const killed = 'the service is killed'

interface LeakTally {
  deliveries: number
  /** Revoked by a failed delivery. */
  revokedAllTheSame: number
  redeliveries: number
  auditRows: number
}

export interface LeakOptions {
  /** Deliveries of each kind. */
  cycles: number
  seed: number
  tokens?: number
  signal?: AbortSignal
  say?: (line: string) => void
}

export interface LeakFigures {
  tallies: Map<string, LeakTally>
  broken: string[]
  serverVersion: string
}

/** As often as a sender might, and more. */
const redeliveries = 10

/** Lets one token of each report fail, and then lets the sender deliver again and again. */
export function runDeliveries(options: LeakOptions): Promise<LeakFigures> {
  const { cycles, seed, tokens = 24, signal, say = () => {} } = options
  const chance = seeded(seed)
  return onLeakStage(async stage => {
    const figures: LeakFigures = { tallies: new Map(), broken: [], serverVersion: stage.serverVersion }
    for (const kind of [...Object.keys(obstacles), killed]) {
      const tally: LeakTally = { deliveries: 0, revokedAllTheSame: 0, redeliveries: 0, auditRows: 0 }
      figures.tallies.set(kind, tally)
      for (let cycle = 0; cycle < cycles && !signal?.aborted; cycle++) {
        const leaks = await stage.makeLeaks(tokens)
        const fail = (what: string) => void figures.broken.push(`${kind}: ${what}`)
        const victim = chance.pick(leaks)
        const done =
          kind === killed
            ? await killMidway(stage, leaks, chance, fail)
            : await obstruct(stage, leaks, victim, obstacles[kind] as Obstacle, fail)
        tally.deliveries += 1
        tally.revokedAllTheSame += done
        tally.redeliveries += await deliverAgain(stage, leaks, fail)
        tally.auditRows += await countRows(stage, leaks, fail)
        for (const fault of await stage.faults()) fail(fault)
        say(`${kind}: ${cycle + 1} of ${cycles}, ${figures.broken.length} broken`)
      }
    }
    return figures
  })
}

type Fail = (what: string) => void

/** @returns how many tokens the failed delivery has revoked: all but one. */
async function obstruct(
  stage: LeakStage,
  leaks: readonly Leaking[],
  victim: Leaking,
  raise: Obstacle,
  fail: Fail,
): Promise<number> {
  const mend = await raise(stage, victim)
  const { status } = await stage.deliver(leaks)
  await mend()
  if (status === null || status < 500) fail(`the delivery was answered ${status}`)
  const ended = await endedOf(stage, leaks)
  for (const leak of leaks) {
    const isVictim = leak === victim
    if (ended.has(leak.id) === isVictim)
      fail(`${leak.table} ${isVictim ? 'was revoked' : 'was not revoked, though nothing obstructed it'}`)
  }
  return ended.size
}

/** @returns how many tokens were revoked when the service had died. */
async function killMidway(
  stage: LeakStage,
  leaks: readonly Leaking[],
  chance: Seeded,
  fail: Fail,
): Promise<number> {
  const enough = 1 + chance.integer(leaks.length - 1)
  let isOver = false
  const delivery = stage.deliver(leaks).finally(() => {
    isOver = true
  })
  await until('some tokens are revoked', async () => isOver || (await endedOf(stage, leaks)).size >= enough)
  await stage.killService()
  const { status } = await delivery
  await until('the commits sent to Postgres have ended', async () => (await countBackends(stage)) === 0)
  const ended = await endedOf(stage, leaks)
  if (status === 200 && ended.size < leaks.length) fail('an unfinished delivery was acknowledged')
  await countRows(stage, leaks, fail, ended)
  await stage.startService()
  return ended.size
}

/** A dead service may have sent a commit that is still to happen. */
async function countBackends({ query }: LeakStage): Promise<number> {
  const [row] = await query(
    `select count(*) as backends from pg_stat_activity where application_name like 'keyrail %'`,
  )
  return Number(row?.backends)
}

/** The sender delivers ten times more, some of them at once. */
async function deliverAgain(stage: LeakStage, leaks: readonly Leaking[], fail: Fail): Promise<number> {
  const deliverOnce = async () => {
    const { status, body } = await stage.deliver(leaks)
    const labels = (body as { label: string }[] | null)?.map(({ label }) => label)
    if (status !== 200 || labels?.length !== leaks.length || labels.some(label => label !== 'true_positive'))
      fail(`a redelivery was answered ${status}: ${JSON.stringify(body).slice(0, 200)}`)
  }
  await Promise.all([deliverOnce(), deliverOnce(), deliverOnce()])
  for (let n = 3; n < redeliveries; n++) await deliverOnce()
  return redeliveries
}

/** The ids of revoked or ended credentials. */
async function endedOf({ query }: LeakStage, leaks: readonly Leaking[]): Promise<Set<string>> {
  const rows = await query(
    `select id from api_keys where id = any($1) and revoked_at is not null
     union all select id from secret_keys where id = any($1) and revoked_at is not null
     union all select id from sessions where id = any($1) and ended_at is not null`,
    [leaks.map(({ id }) => id)],
  )
  return new Set(rows.map(({ id }) => String(id)))
}

/**
 * Each revoked one has one row in the log, and any other none. @returns how many rows there are.
 *
 * @param ended all of them by default.
 */
async function countRows(
  { query }: LeakStage,
  leaks: readonly Leaking[],
  fail: Fail,
  ended: ReadonlySet<string> = new Set(leaks.map(({ id }) => id)),
): Promise<number> {
  const rows = await query(
    `select target_id as id, count(*) as rows from audit_logs
     where target_id = any($1) and payload::json->>'reason' = 'leaked' group by target_id`,
    [leaks.map(({ id }) => id)],
  )
  const counts = new Map(rows.map(({ id, rows }) => [String(id), Number(rows)]))
  for (const { id, table } of leaks) {
    const [found, expected] = [counts.get(id) ?? 0, ended.has(id) ? 1 : 0]
    if (found !== expected) fail(`${table}: ${found} audit rows, not ${expected}`)
  }
  return [...counts.values()].reduce((sum, count) => sum + count, 0)
}
