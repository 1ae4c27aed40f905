import { hash } from 'node:crypto'
import type { Heard } from '../packages/server/test/harness.ts'
import type { Stage } from './lifecycle-stage.ts'

type Ask = (method: string, path: string, body?: object) => Promise<Heard>

/** A digest belongs to one key of all workspaces. */
const digestOf = ({ workspaceId }: Stage, name: string) => hash('sha256', `${workspaceId} ${name}`)

/** Imports a key for the tenant of the stage. */
export const importKey = (stage: Stage, ask: Ask, name: string, env = 'live'): Promise<Heard> =>
  ask('POST', '/v1/keys/import', {
    project_id: stage.projectId,
    env,
    rows: [{ tenant_id: stage.tenantId, digest: digestOf(stage, name) }],
  })

/** Imports a key for a tenant that is not there yet. */
export const importMet = (stage: Stage, ask: Ask): Promise<Heard> =>
  ask('POST', '/v1/keys/import', {
    project_id: stage.projectId,
    env: 'live',
    create_tenants: true,
    rows: [{ external_id: 'imported', digest: digestOf(stage, 'met') }],
  })
