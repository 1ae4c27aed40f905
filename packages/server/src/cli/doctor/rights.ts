import type pg from 'pg'
import { schemaElsewhere } from '../../platform/db/migrate/own-schema.ts'
import { missingGrants } from '../../platform/db/roles/outside-facts.ts'
import { foreignOwner } from '../../platform/db/roles/service-rights.ts'
import type { Check } from './check.ts'

/** Checks what the login needs to migrate. Only called for a database that lacks a migration. */
export async function checkMigrationRights(client: pg.ClientBase): Promise<Check[]> {
  const elsewhere = await schemaElsewhere(client)
  if (elsewhere !== null)
    return [{ name: 'schema', status: 'fault', message: elsewhere.reason, todo: elsewhere.todo }]
  const owner = await foreignOwner(client)
  if (owner !== null) {
    const message = 'this login serves, and does not own the schema, which is older than this release'
    const todo = `run keyrail migrate with the DATABASE_URL of ${owner}.`
    return [{ name: 'rights', status: 'fault', message, todo }]
  }
  const grants = await missingGrants(client)
  if (grants.length === 0) return []
  const message = 'this login may not make what the migrations need'
  return [
    {
      name: 'rights',
      status: 'fault',
      message,
      todo: `have an operator run this once:\n${grants.join('\n')}`,
    },
  ]
}
