import type { FieldFault } from '@keyrail/contract/errors'
import type { ImportedRow, KeyImport, KeyImported } from '@keyrail/contract/vendor/imports'
import { actorOf, appendAudit } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import { assertSeesProject, type VendorPrincipal } from '../gate/principal.ts'
import { toKey, toTarget } from '../keys/resource.ts'
import type { KeyRow } from '../keys/rows.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { idOfTime } from '../platform/ids.ts'
import { Refusal } from '../platform/refusal.ts'
import { acceptImportedKeys, lockPolicyHeads, notePolicyChange } from '../policy/changes.ts'
import {
  claimDigests,
  findImportProject,
  findKeysByDigest,
  insertImported,
  markAcceptsImported,
  type NewImported,
} from './import-sql.ts'
import type { ImportNeeds } from './needs.ts'
import {
  invalid,
  keysOf,
  madeOf,
  ofOwnKey,
  type Plan,
  type Planned,
  planRows,
  refusedDigest,
} from './plan.ts'
import { readRow } from './read-row.ts'
import { type Found, type Order, resolveRows } from './resolve.ts'

/**
 * Imports keys by their digests: all rows that are valid in one transaction, or none. A repeated row changes nothing. Locks: the
 * tenants, their caps, the policy head, then the digests in one order for all.
 */
export function importKeys(
  { deps, db, principal }: Caller<ImportNeeds>,
  body: KeyImport,
  replay: ReplayKey | null,
): Promise<Replayable> {
  assertSeesProject(principal, body.project_id)
  // A tenant belongs to no environment, and a key of the test environment changes nothing there.
  if (principal.reach === 'test' && body.create_tenants === true)
    throw new Refusal(
      'live_credential_required',
      'A test key imports keys of existing tenants only. Create the tenants with a live key.',
    )
  return mutate(
    db,
    principal.workspaceId,
    replay,
    tx => importRows(deps, tx, principal, body),
    answer => answer,
  )
}

async function importRows(
  deps: ImportNeeds,
  tx: Tx,
  principal: VendorPrincipal,
  { project_id, env, dry_run: isDry = false, create_tenants: createsTenants = false, rows }: KeyImport,
): Promise<KeyImported> {
  const project = await findImportProject(tx, project_id)
  if (project === null) throw new Refusal('not_found')
  const now = deps.clock.now()
  const order: Order = { project, env, isDry, createsTenants, actor: actorOf(principal), now }
  const read = rows.map(row => readRow(row, project, now))
  const found = await resolveRows(
    deps,
    tx,
    order,
    read.flatMap(row => ('read' in row ? [row.read] : [])),
  )
  const plans = planRows(read, found)
  const planned = keysOf(plans)
  const became =
    isDry || planned.length === 0
      ? new Map(planned.map(key => [key, madeOf(found, key, null)]))
      : await writeKeys(deps, tx, order, principal.role === 'owner', found, planned)
  return toAnswer(
    isDry,
    plans.map(plan => rowOf(plan, became)),
  )
}

/** A later row with the digest of a key that was made, or that is there, finds it there. */
function rowOf(plan: Plan, became: ReadonlyMap<Planned, ImportedRow>): ImportedRow {
  if ('status' in plan) return plan
  const row = became.get('key' in plan ? plan.key : plan.same) ?? refusedDigest
  return 'same' in plan && row.status === 'created' ? { ...row, status: 'exists' } : row
}

function toAnswer(isDry: boolean, rows: ImportedRow[]): KeyImported {
  const count = (of: ImportedRow['status']) => rows.filter(({ status }) => status === of).length
  return {
    object: 'key_import',
    dry_run: isDry,
    created: count('created'),
    existing: count('exists'),
    invalid: count('invalid'),
    rows,
  }
}

/** @returns what became of each planned key: another call may have taken its digest since the store was read. */
async function writeKeys(
  deps: ImportNeeds,
  tx: Tx,
  order: Order,
  isOwner: boolean,
  found: Found,
  planned: readonly Planned[],
): Promise<Map<Planned, ImportedRow>> {
  const full = await makeRoom(deps, tx, order, isOwner, found, planned)
  const became = new Map<Planned, ImportedRow>()
  const keys = new Map<Planned, NewImported>()
  for (const key of planned) {
    const fault = full.get(key.tenant)
    if (fault === undefined) keys.set(key, toNewImported(deps, found.place, key))
    else became.set(key, invalid([{ path: key.read.by, message: fault }]))
  }
  const [living, project] = await Promise.all([
    lockPolicyHeads(tx, [order.project.id]),
    findImportProject(tx, order.project.id),
  ])
  if (living.length === 0 || project === null) throw new Refusal('not_found')
  const all = [...keys.values()]
  const claimed = await claimDigests(tx, all)
  const lost = all.filter(({ id }) => !claimed.has(id)).map(({ digest }) => digest)
  const own = new Map(
    (lost.length === 0 ? [] : await findKeysByDigest(tx, lost)).map(key => [key.digest.toString('hex'), key]),
  )
  for (const [plan, key] of keys) {
    const other = own.get(key.digest.toString('hex'))
    if (claimed.has(key.id)) became.set(plan, madeOf(found, plan, key.id))
    else became.set(plan, other === undefined ? refusedDigest : ofOwnKey(found, plan.tenant, other))
  }
  const made = all.filter(({ id }) => claimed.has(id))
  if (made.length > 0) write(deps, tx, order, made, project.accepts_imported)
  return became
}

function toNewImported(
  deps: ImportNeeds,
  place: Found['place'],
  { read: { by: _by, tenant: _named, ...read }, tenant }: Planned,
): NewImported {
  return { ...read, ...place, id: idOfTime(read.created_at.getTime(), deps.randomBytes), tenant_id: tenant }
}

/**
 * Bounds the ended keys of each tenant, as for one key.
 * @returns by tenant, why it has no space for further keys.
 */
async function makeRoom(
  deps: ImportNeeds,
  tx: Tx,
  { actor }: Order,
  isOwner: boolean,
  { counts, place }: Found,
  planned: readonly Planned[],
): Promise<Map<string, FieldFault['message']>> {
  const full = new Map<string, string>()
  const maker = { id: actor.id, passes: isOwner }
  for (const { tenant_id, ended } of counts) {
    const added = planned.filter(({ tenant }) => tenant === tenant_id).length
    if (added === 0) continue
    const of = { ...place, tenant_id, is_embedded: false }
    // Sends nothing for a tenant that is below its cap.
    await deps.endedQuota.make(tx, of, maker, ended + added - 1).catch((error: unknown) => {
      if (!(error instanceof Refusal) || error.code !== 'key_limit_reached') throw error
      full.set(tenant_id, error.detail)
    })
  }
  return full
}

function write(
  deps: ImportNeeds,
  tx: Tx,
  { project: { id: projectId }, env, actor, now }: Order,
  keys: readonly NewImported[],
  isAccepted: boolean,
): void {
  const at = new Date(now)
  insertImported(tx, { project_id: projectId, env, at, madeBy: actor.id }, keys)
  notePolicyChange(
    tx,
    projectId,
    keys.map(({ id }) => id),
  )
  if (!isAccepted) {
    acceptImportedKeys(tx, projectId)
    markAcceptsImported(tx, projectId)
  }
  appendAudit(
    deps,
    tx,
    actor,
    now,
    keys.map(key => ({
      ...toTarget(key),
      action: 'api_key.imported',
      payload: { ...toKey({ ...key, ...unused, ...pauseOf(key), imported_at: at, updated_at: at }) },
    })),
  )
}

const pauseOf = ({ disabled_at }: NewImported): Pick<KeyRow, 'disabled_by'> => ({
  disabled_by: disabled_at === null ? null : 'vendor',
})

const unused = {
  rotated_from: null,
  rotated_to: null,
  revoked_at: null,
  revoked_reason: null,
  disabled_reason: null,
  overlap_ends_at: null,
  original_expires_at: null,
  last_used_at: null,
  embedded_at: null,
}
