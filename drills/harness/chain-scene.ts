import type pg from 'pg'
import { auditedMutations } from '../../packages/server/test/mutations.ts'
import { plainly } from './api.ts'
import { bootstrapToken } from './service.ts'
import type { Stage } from './stage.ts'

/** A chain that the API has written, with a copy from which it is restored after each forgery. */
export interface ChainScene {
  workspaceId: string
  /** Rows of the chain. */
  length: number
  client: pg.Client
  putBack(): Promise<void>
}

/** Tables of the chain; the forger owns them all. */
const tables = ['audit_logs', 'audit_heads', 'audit_addresses']

/** Mutations whose rows make up the chain, repeated; every second one records an address. */
const operations = [
  'updateWorkspace',
  'createKey',
  'updateWorkspace',
  'rotateKey',
  'updateWorkspace',
  'createSecretKey',
  'updateWorkspace',
  'deleteTenant',
]

/**
 * Writes a chain through the API, and drops everything that would restrict a forger: checks, foreign keys and the
 * primary key. Then only the chain itself can detect a forgery.
 *
 * @param least rows; the last mutation may add more than one, so there may be a few more
 */
export async function makeChain({ api, client, scene }: Stage, least: number): Promise<ChainScene> {
  const { workspaceId } = scene
  const lengthNow = async () =>
    (await client.query('select seq from audit_heads where workspace_id = $1', [workspaceId])).rows[0].seq
  for (let turn = 0; (await lengthNow()) < least; turn += 1) {
    const prepare = auditedMutations[operations[turn % operations.length] as string]
    const route = methods[operations[turn % operations.length] as string]
    if (prepare === undefined || route === undefined) throw new Error('an operation is missing')
    const { url, token, body } = await prepare({
      ask: plainly(api),
      query: async (text, values) => (await client.query(text, values)).rows,
      bootstrapToken,
      scene,
    })
    const { status } = await api.ask(route, url, { token, ...(body !== undefined && { body }) })
    if (status >= 300) throw new Error(`${operations[turn % operations.length]} was answered ${status}`)
  }
  await client.query(`do $$ declare c record; begin
    for c in select conrelid::regclass as t, conname from pg_constraint
      where conrelid in (${tables.map(table => `'${table}'::regclass`).join(', ')}) and contype in ('c', 'f', 'p')
      order by contype = 'p' loop
      execute format('alter table %s drop constraint if exists %I cascade', c.t, c.conname);
    end loop; end $$`)
  await client.query('alter table audit_logs alter column seq drop not null')
  for (const table of tables) await client.query(`create table drill_${table} as table ${table}`)
  return {
    workspaceId,
    length: await lengthNow(),
    client,
    async putBack() {
      const back = tables.map(
        table => `delete from ${table}; insert into ${table} select * from drill_${table};`,
      )
      await client.query(`begin; ${back.join('')} commit`)
    },
  }
}

const methods: Record<string, string> = {
  updateWorkspace: 'PATCH',
  createKey: 'POST',
  rotateKey: 'POST',
  createSecretKey: 'POST',
  deleteTenant: 'DELETE',
}
