import type { Role } from '@keyrail/contract/shared'
import { sql } from '../platform/db/connection.ts'
import { changesOne } from '../platform/db/touch.ts'
import type { PersonTx, ReadTx, Tx } from '../platform/db/transaction.ts'

export interface MemberRow {
  user_id: string
  email: string
  name: string | null
  role: Role
  joined_at: Date
}

const list = sql(
  'members.list',
  `select m.user_id, u.email, u.name, m.role, m.joined_at
   from workspace_members m join users u on u.id = m.user_id
   where m.workspace_id = $1 and m.removed_at is null
     and ($2::timestamptz is null or (m.joined_at, m.user_id) < ($2, $3::uuid))
   order by m.joined_at desc, m.user_id desc limit $4`,
)
/** Newest first, one row more than the limit. */
export const listMemberRows = (
  tx: ReadTx,
  before: { joinedAt: string; userId: string } | null,
  limit: number,
) => {
  const place = [before?.joinedAt ?? null, before?.userId ?? null]
  return tx.list<MemberRow>(list, [tx.workspaceId, ...place, limit + 1], { most: limit + 1 })
}

const lock = sql(
  'members.lock',
  `select m.user_id, u.email, u.name, m.role, m.joined_at
   from workspace_members m join users u on u.id = m.user_id
   where m.workspace_id = $1 and m.removed_at is null and (m.user_id = $2 or m.role = 'owner')
   order by m.user_id for update of m`,
)
/** Locks the member and every owner in one order: of two owners who leave at once, the second finds itself the last. */
export const lockMemberAndOwners = (tx: Tx, userId: string) =>
  tx.query<MemberRow>(lock, [tx.workspaceId, userId])

const unproven = sql(
  'members.is_unproven',
  `select from workspace_members m join users u on u.id = m.user_id
   where m.workspace_id = $1 and m.user_id = $2 and m.removed_at is null and m.proven_count < u.disowned_count`,
)
/** Whether the account joined before it was shown to be the person's, and the person has not decided to stay. */
export const isUnprovenRow = async (tx: Tx, userId: string): Promise<boolean> =>
  (await tx.query(unproven, [tx.workspaceId, userId])).length > 0

const anyMember = sql(
  'members.any',
  'select exists (select from workspace_members where workspace_id = $1 and removed_at is null) as any',
)
export async function hasMemberRows(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ any: boolean }>(anyMember, [tx.workspaceId])
  return row?.any === true
}

const lockPerson = sql('members.lock_person', 'select id from users where id = $1 for no key update')
const countOwned = sql(
  'members.count_owned',
  `select count(*)::int as count from workspace_members
   where user_id = $1 and role = 'owner' and removed_at is null`,
)
/**
 * The number of workspaces that the person of the transaction owns, in the whole service. A second concurrent
 * transaction waits and sees the result of the first.
 */
export async function countOwnedRows(tx: PersonTx): Promise<number> {
  tx.send(lockPerson, [tx.userId])
  const [row] = await tx.query<{ count: number }>(countOwned, [tx.userId])
  return row?.count ?? 0
}

const insert = sql(
  'members.insert',
  `insert into workspace_members (workspace_id, user_id, role, joined_at, proven_count)
   values ($1, $2, $3, $4, (select disowned_count from users where id = $2))
   on conflict (workspace_id, user_id) do update
     set role = excluded.role, joined_at = excluded.joined_at, removed_at = null, proven_count = excluded.proven_count
     where workspace_members.removed_at is not null
   returning user_id`,
)
/** @returns false when the person is already a member. */
export async function insertMember(tx: Tx, userId: string, role: Role, at: Date): Promise<boolean> {
  return (await tx.query(insert, [tx.workspaceId, userId, role, at])).length > 0
}

const changeRole = sql(
  'members.change_role',
  changesOne('update workspace_members set role = $3 where workspace_id = $1 and user_id = $2'),
)
export const updateRole = (tx: Tx, userId: string, role: Role) =>
  tx.send(changeRole, [tx.workspaceId, userId, role])

const remove = sql(
  'members.remove',
  changesOne('update workspace_members set removed_at = $3 where workspace_id = $1 and user_id = $2'),
)
export const removeRow = (tx: Tx, userId: string, at: Date) => tx.send(remove, [tx.workspaceId, userId, at])
