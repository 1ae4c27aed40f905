import { randomBytes, randomUUID } from 'node:crypto'
import { drawMailedToken } from '../src/platform/crypto/mailed-token.ts'
import { drawToken, tokenDigest } from '../src/platform/crypto/token.ts'

/** Runs SQL as the owner of the tables. */
// biome-ignore lint/suspicious/noExplicitAny: rows of any shape, read by the test that asked for them.
export type Query = (text: string, values?: unknown[]) => Promise<any[]>

export interface MadePerson {
  userId: string
  email: string
  sessionId: string
  /** The session's token. */
  token: string
}

/** The password of everyone made here; the service itself made its hash. */
export const madePassword = 'correct horse battery staple'
const madeHash =
  '$argon2id$v=19$m=19456,t=2,p=1$cGVvcGxlIG9mIHRlc3RzLg$bmCvKFtbX8sL+JXMvr9qSNS9wA8QOEVdTQI45+bdDhI'

export interface PersonTraits {
  email?: string
  name?: string | null
  /** Whether the address is verified, and the person chose the name after that. */
  verified?: boolean
  /** The workspace and role of the person; the session acts there. */
  workspaceId?: string
  role?: 'owner' | 'admin' | 'member'
}

/** Writes an account and a session directly to the database: over the API, signing up costs two password hashes. */
export async function makePerson(query: Query, traits: PersonTraits = {}): Promise<MadePerson> {
  const { name = 'Made', verified = true, workspaceId, role = 'member' } = traits
  const userId = randomUUID()
  const email = traits.email ?? `made-${userId}@example.com`
  await query(
    `insert into users (id, email, address_key, name, email_verified_at, proven_at, name_is_own, created_at, updated_at)
     values ($1, $2, lower($2), $3, case when $4 then service_now() end, case when $4 then service_now() end, $4,
       service_now(), service_now())`,
    [userId, email, name, verified],
  )
  await query('insert into user_passwords (user_id, hash) values ($1, $2)', [userId, madeHash])
  if (workspaceId !== undefined) await addMember(query, workspaceId, userId, role)
  return { userId, email, ...(await openSession(query, userId, workspaceId)) }
}

export const addMember = (query: Query, workspaceId: string, userId: string, role: string) =>
  query(
    `insert into workspace_members (workspace_id, user_id, role, joined_at) values ($1, $2, $3, service_now())`,
    [workspaceId, userId, role],
  )

/** Opens another session of a person. */
export async function openSession(query: Query, userId: string, workspaceId?: string) {
  const sessionId = randomUUID()
  const token = drawToken('krses', randomBytes)
  await query(
    `insert into sessions (id, user_id, acts_in, created_at, last_seen_at, expires_at)
     values ($1, $2, $3, service_now(), service_now(), service_now() + interval '7 days')`,
    [sessionId, userId, workspaceId ?? null],
  )
  await query(`insert into credentials (digest, kind, id) values ($1, 'session', $2)`, [
    tokenDigest(token),
    sessionId,
  ])
  return { sessionId, token }
}

/** Makes the token of a mailed link. */
export async function makeMailedToken(
  query: Query,
  userId: string,
  kind: 'verification' | 'password_reset',
): Promise<string> {
  const { token, digest } = drawMailedToken(userId, randomBytes)
  await query(
    `insert into mail_tokens (user_id, kind, digest, created_at, expires_at)
     values ($1, $2, $3, service_now(), service_now() + interval '1 hour')
     on conflict (user_id, kind) do update set digest = excluded.digest, used_at = null, expires_at = excluded.expires_at`,
    [userId, kind, digest],
  )
  return token
}

/** Tables whose rows each belong to one person, not to a workspace. */
export const personalTables = ['users', 'user_passwords', 'sessions', 'mail_tokens', 'disownings']
