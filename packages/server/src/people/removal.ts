import type pg from 'pg'

/** What the operator sees of a person before the removal. */
export interface PersonLabel {
  /** The address in the form in which addresses are compared. */
  addressKey: string
  /** Null: the address has no account, but was invited or recorded. */
  userId: string | null
  /** The slugs of the workspaces that would be left without an owner. */
  ownedAlone: string[]
  /** The workspaces with this billing address, whose owners must change it themselves. */
  billed: string[]
}

/** @returns null if the address is unknown. */
export async function findPersonLabel(
  client: pg.ClientBase,
  addressKey: string,
): Promise<PersonLabel | null> {
  const { rows: users } = await client.query('select id from users where address_key = $1', [addressKey])
  const userId: string | null = users[0]?.id ?? null
  const { rows: owned } = await client.query(
    `select w.slug from workspace_members m join workspaces w on w.id = m.workspace_id
     where m.user_id = $1 and m.role = 'owner' and m.removed_at is null and not exists (
       select from workspace_members o join users u on u.id = o.user_id where o.workspace_id = m.workspace_id and o.role = 'owner'
         and o.removed_at is null and o.user_id <> m.user_id)
     order by w.slug`,
    [userId],
  )
  const { rows: billed } = await client.query(
    'select slug from workspaces where lower(billing_email) = $1 order by slug',
    [addressKey],
  )
  const { rows: traces } = await client.query(
    `select from workspace_invites where address_key = $1
     union all select from audit_addresses where lower(address) = $1 limit 1`,
    [addressKey],
  )
  if (userId === null && traces.length === 0) return null
  const slugs = (found: { slug: string }[]) => found.map(({ slug }) => slug)
  return { addressKey, userId, ownedAlone: slugs(owned), billed: slugs(billed) }
}

/** A workspace would have no owner. */
export class OwnedAlone extends Error {}

/**
 * Erases a person for good, in one transaction, as the role that owns the tables: the account with its sessions and
 * memberships, invitations of the address, the address beside every audit chain, and the network addresses from which the
 * person made changes. The hashed data stays, so the chains still verify; an id remains in them that leads to no person.
 * @returns how many rows were removed, by table.
 * @throws {OwnedAlone} if a workspace has no other owner.
 */
export async function erasePerson(
  client: pg.ClientBase,
  addressKey: string,
): Promise<Record<string, number>> {
  await client.query('begin')
  try {
    const removed = await eraseRows(client, addressKey)
    await client.query('commit')
    return removed
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

/** The rows of the person's changes in every workspace, by index, also in workspaces that the person has left. */
const changedBy = `(workspace_id, first_seq) in (
  select l.workspace_id, l.seq from workspaces w cross join lateral (
    select a.workspace_id, a.seq from audit_logs a
    where a.workspace_id = w.id and a.actor_id = $1::text and a.actor_type = 'user' offset 0) l)`

async function eraseRows(client: pg.ClientBase, addressKey: string): Promise<Record<string, number>> {
  // Ends first what the person is doing, and in workspaces also what a new session could begin.
  await client.query('select end_rights(u.id, array[u.id]) from users u where u.address_key = $1', [
    addressKey,
  ])
  await client.query(
    `select end_rights(m.workspace_id, array[m.user_id]) from (
       select m.workspace_id, m.user_id from workspace_members m join users u on u.id = m.user_id
       where u.address_key = $1 order by m.workspace_id offset 0) m`,
    [addressKey],
  )
  await expireInvitesBelow(client, addressKey)
  // A concurrent join, sign-in or password reset has ended before this lock, or finds no person.
  await client.query('select from users where address_key = $1 for update', [addressKey])
  await client.query(
    `select from user_passwords where user_id in (select id from users where address_key = $1) for update`,
    [addressKey],
  )
  // Owners of these workspaces cannot leave or join while the remaining ones are checked.
  await client.query(
    `select from workspace_members where role = 'owner' and removed_at is null and workspace_id in (
       select m.workspace_id from workspace_members m join users u on u.id = m.user_id where u.address_key = $1)
     order by workspace_id, user_id for update`,
    [addressKey],
  )
  const label = await findPersonLabel(client, addressKey)
  if (label !== null && label.ownedAlone.length > 0) throw new OwnedAlone(label.ownedAlone.join(', '))
  const userId = label?.userId ?? null
  const removed: Record<string, number> = {}
  const remove = async (table: string, condition: string, value: unknown) => {
    const { rowCount } = await client.query(`delete from ${table} where ${condition}`, [value])
    removed[table] = (removed[table] ?? 0) + (rowCount ?? 0)
  }
  await remove('workspace_members', 'user_id = $1', userId)
  await remove(
    'credentials',
    `kind = 'session' and id in (select id from sessions where user_id = $1)`,
    userId,
  )
  for (const table of ['sessions', 'mail_tokens', 'disownings', 'user_passwords'])
    await remove(table, 'user_id = $1', userId)
  await remove('audit_callers', changedBy, userId)
  await remove('users', 'id = $1', userId)
  await remove('replays', `caller = 'session:' || $1::text`, userId)
  await remove('replays', `lower(body->>'email') = $1 or lower(body->>'billing_email') = $1`, addressKey)
  await remove('workspace_invites', 'address_key = $1', addressKey)
  await remove('mail_throttles', `address_hash = sha256(convert_to($1, 'UTF8'))`, addressKey)
  await remove('audit_addresses', 'lower(address) = $1', addressKey)
  // Last, when no rows can be added any more.
  await remove('security_events', 'user_id = $1', userId)
  return removed
}

/**
 * Invitations by the person, or by a secret key below them, stop working. They expire, because no one in the
 * workspace revoked them. This comes before members and persons are locked, in the order in which invitations
 * are accepted.
 */
const expireInvitesBelow = (client: pg.ClientBase, addressKey: string) =>
  client.query(
    `with recursive makers (workspace_id, type, id) as (
       select m.workspace_id, 'user', m.user_id::text
       from workspace_members m join users u on u.id = m.user_id where u.address_key = $1
       union
       select k.workspace_id, 'secret_key', k.id::text
       from makers m join secret_keys k
         on k.workspace_id = m.workspace_id and k.created_by_type = m.type and k.created_by_id = m.id
     )
     update workspace_invites i set expires_at = service_now()
     from makers m
     where i.accepted_at is null and i.revoked_at is null and i.expires_at > service_now()
       and i.workspace_id = m.workspace_id and i.created_by_type = m.type and i.created_by_id = m.id`,
    [addressKey],
  )
