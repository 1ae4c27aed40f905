import { canonicalRow, nextHash } from '../../packages/server/src/audit/chain.ts'
import type { ChainScene } from './chain-scene.ts'

/** One change to a chain that must be detected. */
export interface Forgery {
  kind: string
  name: string
  forge(scene: ChainScene): Promise<unknown>
  /** The first invalid position then; null where the chain must stay valid. */
  firstBad: number | null
  /** Another position that is also correct. */
  orElse?: number
}

const flip = (column: string) => `set_byte(${column}, 7, get_byte(${column}, 7) # 1)`

/** By column, other values that a forger might want. */
const otherValues: Record<string, readonly string[]> = {
  workspace_id: ['gen_random_uuid()'],
  seq: ['seq + 1000', 'null'],
  action: [`'api_key.revoked_'`, `'tenant.updated'`, `upper(action)`],
  actor_type: [`'system'`],
  actor_id: [
    `gen_random_uuid()::text`,
    `case when actor_id is null then 'x' end`,
    `coalesce(actor_id, '') || 'x'`,
  ],
  target_type: [`'member'`],
  target_id: ['gen_random_uuid()'],
  env: [`case when env = 'live' then 'test' else 'live' end`, `coalesce(env, 'null') || ' '`],
  payload: [
    `'{}'`,
    `replace(payload, '":', '": ')`,
    `payload || ' '`,
    `overlay(payload placing '{"forged":true,' from 1 for 1)`,
  ],
  created_at: [
    `created_at + interval '1 millisecond'`,
    `created_at - interval '1 year'`,
    // The same figures of a year before our era: a text without the era would be the same.
    `make_timestamptz(-extract(year from created_at at time zone 'UTC')::int, extract(month from created_at at time zone 'UTC')::int,
       extract(day from created_at at time zone 'UTC')::int, extract(hour from created_at at time zone 'UTC')::int,
       extract(minute from created_at at time zone 'UTC')::int, extract(second from created_at at time zone 'UTC')::float8, 'UTC')`,
    `'infinity'`,
  ],
  prev_hash: [flip('prev_hash'), 'hash'],
  hash: [flip('hash'), 'prev_hash'],
}

const contents = 'action, actor_type, actor_id, target_type, target_id, env, payload, created_at'

const sql =
  (text: string, ...values: unknown[]) =>
  ({ client, workspaceId }: ChainScene) =>
    client.query(text, [workspaceId, ...values])

/** Every column of every row, every row deleted, every two neighbours swapped, and so on through the chain. */
export function* forgeriesOf(length: number): Generator<Forgery> {
  for (let n = 1; n <= length; n += 1) {
    yield* changedColumns(n)
    yield {
      kind: 'row deleted',
      name: `row ${n}`,
      firstBad: n,
      forge: sql('delete from audit_logs where workspace_id = $1 and seq = $2', n),
    }
    yield {
      kind: 'row doubled',
      name: `row ${n}`,
      firstBad: n + 1,
      // Then its address has a double too.
      orElse: n,
      forge: sql('insert into audit_logs select * from audit_logs where workspace_id = $1 and seq = $2', n),
    }
    yield* insertions(n, length)
    yield {
      kind: 'tail cut',
      name: `behind row ${n - 1}`,
      firstBad: n,
      forge: sql('delete from audit_logs where workspace_id = $1 and seq >= $2', n),
    }
    if (n < length) yield* swaps(n, n + 1)
    // And some that are far apart.
    const far = 1 + ((n * 7) % length)
    if (far > n + 1) yield* swaps(n, far)
  }
  yield* headForgeries(length)
}

function* changedColumns(n: number): Generator<Forgery> {
  for (const [column, values] of Object.entries(otherValues)) {
    for (const value of values) {
      yield {
        kind: `${column} changed`,
        name: `row ${n}: ${value}`,
        firstBad: n,
        forge: async scene => {
          const text = `update audit_logs set ${column} = ${value} where workspace_id = $1 and seq = $2`
          const { rowCount } = await sql(text, n)(scene)
          if (rowCount !== 1) throw new Error(`row ${n} was not changed`)
        },
      }
    }
  }
}

/** Only the contents are swapped, or the rows with their hashes. */
function* swaps(one: number, other: number): Generator<Forgery> {
  const kind = other === one + 1 ? 'neighbours swapped' : 'far rows swapped'
  for (const columns of [contents, `${contents}, prev_hash, hash`]) {
    yield {
      kind,
      name: `rows ${one} and ${other}: ${columns}`,
      firstBad: one,
      forge: sql(
        `update audit_logs l set (${columns}) = (select ${columns} from audit_logs o
           where o.workspace_id = l.workspace_id and o.seq = $2::int + $3::int - l.seq)
         where l.workspace_id = $1 and l.seq in ($2::int, $3::int)`,
        one,
        other,
      ),
    }
  }
}

/** A row inserted after row n, the following ones renumbered: a copy of row n, or one with a correct hash. */
function* insertions(n: number, length: number): Generator<Forgery> {
  const makeRoom = async (scene: ChainScene) => {
    for (const table of ['audit_logs', 'audit_addresses'])
      await sql(`update ${table} set seq = seq + 1 where workspace_id = $1 and seq > $2`, n)(scene)
  }
  const copy = sql(
    `insert into audit_logs (workspace_id, seq, ${contents}, prev_hash, hash)
     select workspace_id, seq + 1, ${contents}, prev_hash, hash from audit_logs
     where workspace_id = $1 and seq = $2`,
    n,
  )
  yield {
    kind: 'row inserted, a copy',
    name: `behind row ${n}`,
    firstBad: n + 1,
    forge: async scene => {
      await makeRoom(scene)
      await copy(scene)
    },
  }
  yield {
    kind: 'row inserted, well-formed',
    name: `behind row ${n}`,
    // It follows the row before correctly; the row after it does not follow it. At the end, the head shows it.
    firstBad: n === length ? n + 1 : n + 2,
    forge: async scene => {
      await makeRoom(scene)
      await copy(scene)
      await rehash(scene, n + 1)
    },
  }
}

/** Gives a row the correct hash for its content and the row before. */
export async function rehash({ client, workspaceId }: ChainScene, seq: number): Promise<void> {
  const { rows } = await client.query(
    `select l.*, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at,
       (select hash from audit_logs b where b.workspace_id = l.workspace_id and b.seq = l.seq - 1) as before
     from audit_logs l where workspace_id = $1 and seq = $2`,
    [workspaceId, seq],
  )
  const row = rows[0]
  const canonical = canonicalRow({
    seq,
    workspaceId,
    action: row.action,
    actorType: row.actor_type,
    actorId: row.actor_id,
    targetType: row.target_type,
    targetId: row.target_id,
    env: row.env,
    createdAt: row.at,
    payload: row.payload,
  })
  await client.query('update audit_logs set prev_hash = $3, hash = $4 where workspace_id = $1 and seq = $2', [
    workspaceId,
    seq,
    row.before,
    nextHash(row.before, canonical),
  ])
}

function* headForgeries(length: number): Generator<Forgery> {
  const head = (name: string, firstBad: number, change: string): Forgery => ({
    kind: 'head changed',
    name,
    firstBad,
    forge: sql(`update audit_heads set ${change} where workspace_id = $1`),
  })
  yield head('one too many', length + 1, 'seq = seq + 1')
  yield head('one too few', length, 'seq = seq - 1')
  yield head('none', 1, 'seq = 0')
  yield head('another hash', length, `hash = ${flip('hash')}`)
  yield {
    kind: 'head deleted',
    name: 'the row',
    firstBad: length + 1,
    forge: sql('delete from audit_heads where workspace_id = $1'),
  }
}
