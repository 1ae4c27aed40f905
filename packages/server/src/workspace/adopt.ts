import type { Membership } from '@keyrail/contract/people'
import { type Actor, actorOf, appendAudit } from '../audit/append.ts'
import type { Authenticate, From } from '../gate/authenticate.ts'
import type { Caller } from '../gate/caller.ts'
import type { PersonPrincipal, Principal } from '../gate/principal.ts'
import { countOwned, hasMembers, joinWorkspace } from '../members/join.ts'
import { actIn, readPerson } from '../people/standing.ts'
import { asPersonTx, type Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import { holdSecretKey } from '../secret-keys/held.ts'
import { tooManyWorkspaces } from './actions.ts'
import type { WorkspaceNeeds } from './needs.ts'
import { lockWorkspace } from './sql.ts'

/**
 * Makes the signed-in person the owner of a workspace without members, such as one that a program has made. The person shows an
 * owner's secret key, which could invite anybody: to be first gives no right.
 */
export async function adoptWorkspace(
  { deps, db, principal }: Caller<WorkspaceNeeds, PersonPrincipal>,
  secretKey: string,
  from: From,
): Promise<Membership> {
  const { id: userId, sessionId } = principal
  const key = await readOwnerKey(deps.authenticate, secretKey, from)
  return await db.inWorkspace(
    key.workspaceId,
    async tx => {
      if (!(await holdSecretKey(tx, key.id))) throw unknownKey()
      const adopted = await adopt(deps, tx, userId, actorOf(principal), key.id)
      if (principal.workspaceId === null) await actIn(asPersonTx(tx, userId), sessionId, key.workspaceId)
      return adopted
    },
    { userId },
  )
}

/**
 * Makes a person the owner of the transaction's workspace, which must have no members, with the audit row.
 * @param shownKeyId the secret key that the person has shown; null: the operator makes the person the owner.
 * @throws {Refusal} `not_found`, `workspace_taken`, `workspace_limit_reached`.
 */
export async function adopt(
  deps: Pick<WorkspaceNeeds, 'config' | 'clock' | 'randomBytes'>,
  tx: Tx,
  userId: string,
  actor: Actor,
  shownKeyId: string | null,
): Promise<Membership> {
  const asPerson = asPersonTx(tx, userId)
  // If two persons adopt it at once, the second finds the first.
  const workspace = await lockWorkspace(tx)
  if (workspace === null) throw new Refusal('not_found')
  const [isTaken, owned, person] = await Promise.all([
    hasMembers(tx),
    countOwned(asPerson),
    readPerson(asPerson),
  ])
  if (person === null) throw new Refusal('unauthenticated')
  if (isTaken) throw new Refusal('workspace_taken')
  const most = deps.config.maxWorkspacesPerPerson
  if (owned >= most) throw tooManyWorkspaces(most)
  const at = deps.clock.now()
  const joining = { ...person, role: 'owner', ...(shownKeyId !== null && { shownKeyId }) } as const
  const { joined } = await joinWorkspace(tx, at, joining)
  appendAudit(deps, tx, actor, at, [joined])
  const { id, name, slug } = workspace
  return { id, name, slug, role: 'owner', unproven: false }
}

const unknownKey = () => new Refusal('invalid_token', 'No active secret key has this text.')

/** @throws {Refusal} `invalid_token` for a key that does not work, `owner_required` for one with fewer rights. */
async function readOwnerKey(
  authenticate: Authenticate,
  secretKey: string,
  from: From,
): Promise<{ id: string; workspaceId: string }> {
  const found = await authenticate([`Bearer ${secretKey}`], from).catch(error => {
    if (error instanceof Refusal && error.code === 'unauthenticated') return null
    throw error
  })
  if (found === null || found.kind !== 'secret_key' || found.id === null || found.workspaceId === null)
    throw unknownKey()
  if (!isWhole(found))
    throw new Refusal('owner_required', 'The secret key must be live, with the role `owner` and no limits.')
  return { id: found.id, workspaceId: found.workspaceId }
}

const isWhole = ({ role, reach, permissions, projectIds }: Principal) =>
  role === 'owner' && reach === 'both' && permissions === null && projectIds === null
