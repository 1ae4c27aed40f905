import type { WriteLetter } from '../platform/mail/deliver.ts'
import type { WriterParts } from '../platform/mail/writer-parts.ts'
import { type LeakedKind, type LeakRow, readLeak } from './sql.ts'

const nouns = {
  api_key: 'An API key',
  secret_key: 'A secret key',
  session: 'A session',
} as const satisfies Record<LeakedKind, string>

const done = {
  api_key: 'It was revoked at once. Your servers refuse it from their next poll of the policy feed on.',
  secret_key: 'It was revoked at once, and is refused everywhere.',
  session: 'It was ended at once; whose it was has been told as well.',
} as const satisfies Record<LeakedKind, string>

const next = {
  api_key: 'Issue another one to the tenant whose it was, and look at what was asked for with it.',
  secret_key: 'Give your own servers another one, and look into the audit log for what was done with it.',
  session: 'Look into the audit log for what was done with it.',
} as const satisfies Record<LeakedKind, string>

/** The letter to a workspace's owners and its billing address. The token is not in it, and not known here. */
export function leakLetters({ db }: Pick<WriterParts, 'db'>): Record<string, WriteLetter> {
  return {
    leak: ({ workspace_id = '', credential_id = '', user_id }) =>
      db.inWorkspace(workspace_id, async tx => {
        const leak = await readLeak(tx, credential_id, user_id ?? null)
        // No owner any more, or no billing address.
        if (leak === null || leak.email === null) return null
        const noun = nouns[leak.kind]
        return {
          to: leak.email,
          subject: `${noun} of ${leak.workspace_name} was found in public`,
          paragraphs: [
            `${noun} of the workspace “${leak.workspace_name}” that begins with ${leak.display_prefix} was reported as readable by others. ${whereOf(leak)}`,
            done[leak.kind],
            ...endedWith(leak),
            next[leak.kind],
          ],
          afterword:
            'An address is sent five of these an hour at most. The audit log has every one, with where it was found.',
        }
      }),
  }
}

/** What was revoked because it was made with the credential; nothing where nothing was. */
function endedWith({ secret_keys_revoked: keys, invitations_revoked: invitations }: LeakRow): string[] {
  const counted = [
    ...(keys > 0 ? [`${keys} secret ${keys === 1 ? 'key' : 'keys'}`] : []),
    ...(invitations > 0
      ? [`${invitations} pending ${invitations === 1 ? 'invitation' : 'invitations'}`]
      : []),
  ]
  if (counted.length === 0) return []
  const were = keys + invitations === 1 ? 'was' : 'were'
  return [
    `${counted.join(' and ')} that had been made with it, directly or by keys made with it, ${were} revoked as well.`,
  ]
}

function whereOf({ url, source }: LeakRow): string {
  const kind = source === null ? '' : ` (${source})`
  return url === null ? `It was not said where${kind}.` : `It was found at ${url}${kind}`
}
