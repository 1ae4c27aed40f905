import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'

/** Places inside a transaction where a trigger can make a backend wait, by name. */
const pausePlaces = {
  'row written': ['after insert or update', ['workspaces', 'projects', 'tenants', 'api_keys', 'secret_keys']],
  'version raised': ['after update', ['policy_heads']],
  'answer recorded': ['after update', ['replays']],
  'chain locked': ['before insert', ['audit_logs']],
  'chain row added': ['after insert', ['audit_logs']],
  'chain head moved': ['after update', ['audit_heads']],
  'commit begun': ['at commit', ['audit_heads']],
} as const satisfies Record<string, readonly [string, readonly string[]]>
export type PausePlace = keyof typeof pausePlaces

const places = Object.keys(pausePlaces) as PausePlace[]
const lockOf = (place: PausePlace) => places.indexOf(place) + 1

/**
 * Adds the triggers. Each takes an advisory lock, shared, and releases it at once; so it only waits while the drill
 * holds that lock. The lock is not kept to the end of the transaction: a drill that asks for it would wait for
 * transactions, and they for each other behind it.
 */
export async function installPauses(client: pg.Client): Promise<void> {
  await client.query(`create function drill_pause() returns trigger language plpgsql as $$ begin
    perform pg_advisory_lock_shared(tg_argv[0]::bigint);
    perform pg_advisory_unlock_shared(tg_argv[0]::bigint);
    return new; end $$`)
  for (const place of places) {
    const [when, tables] = pausePlaces[place]
    for (const table of tables) {
      const name = `drill_${lockOf(place)}`
      const [kind, event, timing] =
        when === 'at commit'
          ? ['constraint trigger', 'after update', 'deferrable initially deferred']
          : ['trigger', when, '']
      await client.query(
        `create ${kind} ${name} ${event} on ${table} ${timing}
         for each row execute function drill_pause(${lockOf(place)})`,
      )
    }
  }
}

/** Backends that reach the place wait there from now on. */
export const armPause = (client: pg.Client, place: PausePlace) =>
  client.query('select pg_advisory_lock($1)', [lockOf(place)])

export const releasePauses = (client: pg.Client) => client.query('select pg_advisory_unlock_all()')

export async function pausedBackends(client: pg.Client, place: PausePlace): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as waiting from pg_locks
     where locktype = 'advisory' and not granted and objid = $1`,
    [lockOf(place)],
  )
  return rows[0].waiting
}

/** How often a state that Postgres does not announce is polled, in milliseconds. */
const lookEveryMs = 2

/**
 * Waits until a condition holds.
 *
 * @param patienceMs far more than it can correctly take
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  patienceMs = 120_000,
): Promise<void> {
  const end = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${patienceMs} ms`)
    await sleep(lookEveryMs)
  }
}
