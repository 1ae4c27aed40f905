import type { Deadline } from '../platform/concurrency/deadline.ts'
import { sql } from '../platform/db/connection.ts'
import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { Refusal } from '../platform/refusal.ts'
import type { Principal } from './principal.ts'

/** What the `:id` of a route names. */
export type TargetKind =
  | 'api_key'
  | 'secret_key'
  | 'member'
  | 'invite'
  | 'tenant'
  | 'project'
  | 'session'
  | 'own_workspace'

interface Target {
  readonly kind: TargetKind
  /** The workspace; of a session and of a person's own workspace, the person. */
  readonly ownerId: string
  readonly id: string
}

/**
 * Whether something exists or did, for requests that would otherwise wait for a turn or a lock to find out: a caller that sends
 * unknown ids must not delay a caller that ends a right. What has ended still exists: its end may be replayed. Whether the caller
 * can see the target, the action decides.
 */
export type FindTarget = Pick<Lane<Target, boolean>, 'run'>

const targetsStatement = sql(
  'gate.targets',
  `select u.place, case u.kind
     when 'api_key' then exists (select from api_keys t where t.workspace_id = u.owner and t.id = u.id)
     when 'secret_key' then exists (select from secret_keys t where t.workspace_id = u.owner and t.id = u.id)
     when 'member' then exists (select from workspace_members t where t.workspace_id = u.owner and t.user_id = u.id)
     when 'invite' then exists (select from workspace_invites t where t.workspace_id = u.owner and t.id = u.id)
     when 'tenant' then exists (select from tenants t where t.workspace_id = u.owner and t.id = u.id)
     when 'project' then exists (select from projects t where t.workspace_id = u.owner and t.id = u.id)
     when 'session' then exists (select from sessions t where t.id = u.id and t.user_id = u.owner)
     when 'own_workspace' then exists (
       select from workspace_members t where t.workspace_id = u.id and t.user_id = u.owner)
     end as is_there
   from unnest($1::text[], $2::uuid[], $3::uuid[]) with ordinality u(kind, owner, id, place)`,
)

export const openTargets = (lanes: Lanes): FindTarget =>
  lanes.open<Target, boolean>({
    name: 'targets',
    shares: 'rights',
    statement: targetsStatement,
    repeatable: true,
    nameOf: ({ kind, ownerId, id }) => `${kind} ${ownerId} ${id}`,
    values: targets => [
      targets.map(({ kind }) => kind),
      targets.map(({ ownerId }) => ownerId),
      targets.map(({ id }) => id),
    ],
    answers: (rows, targets) => {
      const there = new Set(rows.filter(row => row.is_there === true).map(({ place }) => Number(place)))
      return targets.map((_, i) => there.has(i + 1))
    },
  })

/** @throws {Refusal} `not_found`. */
export async function assertThere(
  targets: FindTarget,
  kind: TargetKind,
  { id: callerId, workspaceId }: Principal,
  id: string,
  deadline: Deadline,
): Promise<void> {
  const ownerId = kind === 'session' || kind === 'own_workspace' ? callerId : workspaceId
  if (ownerId === null || !(await targets.run({ kind, ownerId, id }, deadline)))
    throw new Refusal('not_found')
}
