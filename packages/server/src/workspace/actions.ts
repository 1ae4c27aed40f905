import type { EmbedTheme } from '@keyrail/contract/shared'
import type { Workspace, WorkspaceCreate, WorkspaceUpdate } from '@keyrail/contract/vendor/workspace'
import { actorOf, appendAudit, type Entry, openChain } from '../audit/append.ts'
import { changesOf } from '../audit/changes.ts'
import type { Caller } from '../gate/caller.ts'
import type { Principal, VendorPrincipal } from '../gate/principal.ts'
import { countOwned, joinWorkspace } from '../members/join.ts'
import { actIn, readPerson } from '../people/standing.ts'
import type { Db } from '../platform/db/db.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import { asPersonTx, type Tx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { issueSecretKey, noLimits, secretKeyCreated, withoutSecret } from '../secret-keys/issue.ts'
import { askForProof } from './billing.ts'
import type { WorkspaceNeeds } from './needs.ts'
import {
  findWorkspace,
  insertWorkspace,
  lockWorkspace,
  updateWorkspaceRow,
  type WorkspaceRow,
} from './sql.ts'

/**
 * Creates a workspace and its first secret key, with the role of an owner; only this response contains the key. A person who
 * creates the workspace becomes its owner; a workspace made with the bootstrap token has no members.
 */
export function createWorkspace(
  { deps, db, principal }: Caller<WorkspaceNeeds, Principal>,
  body: WorkspaceCreate,
  replay: ReplayKey | null,
  client: Client,
): Promise<Replayable> {
  const workspaceId = deps.makeId()
  return mutate(
    db,
    workspaceId,
    // A session without a workspace moves into the new one, and a repeated request must still find the first response.
    replay && { ...replay, workspaceId: null },
    async tx => {
      const at = deps.clock.now()
      const actor = actorOf(principal)
      const row: WorkspaceRow = {
        id: workspaceId,
        name: body.name,
        slug: body.slug,
        billing_email: body.billing_email ?? null,
        billing_email_verified: false,
        embed_origins: [],
        ...toThemeColumns({ accent: null, radius: null, logo_text: null }),
        created_at: new Date(at),
        updated_at: new Date(at),
      }
      insertWorkspace(tx, row)
      openChain(tx)
      const joined = await joinAsOwner(deps, tx, principal, at)
      await askForProof(tx, principal, client, row)
      const { created, shown } = issueSecretKey(deps, tx, actor, at, {
        ...noLimits,
        env: body.env ?? 'live',
        role: 'owner',
        name: null,
        meta: {},
        expires_at: null,
        rotated_from: null,
        created_in_session: principal.sessionId,
      })
      const workspace = toWorkspace(row)
      appendAudit(deps, tx, actor, at, [
        { ...target(row.id), action: 'workspace.created', payload: { ...workspace } },
        ...joined,
        secretKeyCreated(created),
      ])
      return { ...workspace, secret_key: shown }
    },
    created => ({ ...created, secret_key: withoutSecret(created.secret_key) }),
    {
      // A maker of many workspaces waits in one queue for all of them.
      inNameOf: principal.id ?? 'bootstrap',
      ...(principal.kind === 'session' && principal.id !== null && { userId: principal.id }),
    },
  )
}

/** A session without a workspace moves into the new one; any other session stays where it is. */
async function joinAsOwner(
  { config }: WorkspaceNeeds,
  tx: Tx,
  principal: Principal,
  at: number,
): Promise<Entry[]> {
  const { kind, id: userId, sessionId } = principal
  if (kind !== 'session' || userId === null || sessionId === null) return []
  const asPerson = asPersonTx(tx, userId)
  const [owned, person] = await Promise.all([countOwned(asPerson), readPerson(asPerson)])
  if (person === null) throw new Refusal('unauthenticated')
  if (owned >= config.maxWorkspacesPerPerson) throw tooManyWorkspaces(config.maxWorkspacesPerPerson)
  const { joined } = await joinWorkspace(tx, at, { ...person, role: 'owner' })
  if (principal.workspaceId === null) await actIn(asPerson, sessionId, tx.workspaceId)
  return [joined]
}

export const tooManyWorkspaces = (most: number) =>
  new Refusal('workspace_limit_reached', `You own ${most} workspaces, which is the limit for a person.`)

export async function getWorkspace(db: Db, { workspaceId }: VendorPrincipal): Promise<Workspace> {
  const row = await db.readAtOnce(workspaceId, findWorkspace)
  if (row === null) throw new Refusal('not_found')
  return toWorkspace(row)
}

/** Replaces the fields that the body names. */
export function updateWorkspace(
  { deps, db, principal }: Caller<WorkspaceNeeds>,
  body: WorkspaceUpdate,
  client: Client,
): Promise<Workspace> {
  return db.inWorkspace(principal.workspaceId, async tx => {
    const row = await lockWorkspace(tx)
    if (row === null) throw new Refusal('not_found')
    const at = deps.clock.now()
    const next: WorkspaceRow = {
      ...row,
      ...(body.name !== undefined && { name: body.name }),
      ...(body.billing_email !== undefined && { billing_email: body.billing_email }),
      ...(body.embed_origins !== undefined && { embed_origins: body.embed_origins }),
      ...toThemeColumns({ ...toTheme(row), ...body.embed_theme }),
      updated_at: new Date(at),
    }
    next.billing_email_verified = row.billing_email_verified && next.billing_email === row.billing_email
    if (typeof body.billing_email === 'string') await askForProof(tx, principal, client, next)
    const changes = changesOf(toWorkspace(row), toWorkspace(next))
    if (Object.keys(changes).length === 0) return toWorkspace(row)
    updateWorkspaceRow(tx, next)
    appendAudit(deps, tx, actorOf(principal), at, [
      { ...target(row.id), action: 'workspace.updated', payload: changes },
    ])
    return toWorkspace(next)
  })
}

const target = (id: string) => ({ targetType: 'workspace' as const, targetId: id, env: null })

const toTheme = (row: WorkspaceRow): EmbedTheme => ({
  accent: row.embed_accent,
  radius: row.embed_radius,
  logo_text: row.embed_logo_text,
})
const toThemeColumns = ({ accent, radius, logo_text }: EmbedTheme) => ({
  embed_accent: accent,
  embed_radius: radius,
  embed_logo_text: logo_text,
})

const toWorkspace = (row: WorkspaceRow): Workspace => ({
  object: 'workspace',
  id: row.id,
  name: row.name,
  slug: row.slug,
  billing_email: row.billing_email,
  billing_email_verified: row.billing_email_verified,
  embed_origins: row.embed_origins,
  embed_theme: toTheme(row),
  updated_at: iso(row.updated_at),
  created_at: iso(row.created_at),
})
