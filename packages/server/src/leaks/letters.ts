import type { WriteLetter } from '../platform/mail/deliver.ts'
import type { Letter } from '../platform/mail/letter.ts'
import { nameInLetter, workspaceInWords } from '../platform/mail/subject.ts'
import type { WriterParts } from '../platform/mail/writer-parts.ts'
import { type LeakedKind, type LetterRow, readGathered, readLeak, readLetter } from './sql.ts'

const nouns = {
  api_key: 'An API key',
  secret_key: 'A secret key',
  session: 'A session',
} as const satisfies Record<LeakedKind, string>

const done = {
  api_key: 'Keyrail revoked it at once. Your servers reject it from their next poll of the policy feed on.',
  secret_key: 'Keyrail revoked it at once. Every request with it is now rejected.',
  session: 'Keyrail ended it at once and informed the person it belonged to.',
} as const satisfies Record<LeakedKind, string>

const next = {
  api_key: 'Issue a new key to the tenant, and review the requests that were made with the leaked one.',
  secret_key:
    'Create a new secret key for your servers, and review what was done with the leaked one in the audit log.',
  session: 'Review what was done with it in the audit log.',
} as const satisfies Record<LeakedKind, string>

/** What a letter about several credentials says. A gathered letter can be about sessions too. */
const several = {
  session: {
    many: 'sessions',
    done: 'Every request with an ended session is now rejected.',
    next: 'Review what was done with the sessions in the audit log.',
  },
  api_key: {
    many: 'API keys',
    done: 'Your servers reject API keys from their next poll of the policy feed on.',
    next: 'Issue new keys to the tenants, and review the requests that were made with the leaked ones.',
  },
  secret_key: {
    many: 'secret keys',
    done: 'Every request with a revoked secret key is now rejected.',
    next: 'Create new secret keys for your servers, and review what was done with the leaked ones in the audit log.',
  },
} as const

/** How many keys a letter names. A place has 2,000 characters at most, so this is 100 kB. */
export const namedMax = 50

const afterword =
  'Beyond five of these e-mails in an hour, one more gathers the rest. The audit log lists every leak and where it was found.'

/**
 * The mail to the owners and the billing address of a workspace: `leak` about one session, `leaks` about the keys of a report,
 * and `…_gathered` about all leaks above the throttle in the last hour. It does not contain a token, which is not stored.
 */
export function leakLetters({ db }: Pick<WriterParts, 'db'>): Record<string, WriteLetter> {
  // Keys and sessions share the throttle, and so this letter, whichever of them exceeded it first.
  const gathered: WriteLetter = ({ workspace_id = '', credential_id, letter_id, user_id }) =>
    db.inWorkspace(workspace_id, async tx =>
      write(await readGathered(tx, credential_id ?? null, letter_id ?? null, user_id ?? null, namedMax)),
    )
  return {
    leak: ({ workspace_id = '', credential_id = '', user_id }) =>
      db.inWorkspace(workspace_id, async tx => write(await readLeak(tx, credential_id, user_id ?? null))),
    leaks: ({ workspace_id = '', letter_id = '', user_id }) =>
      db.inWorkspace(workspace_id, async tx =>
        write(await readLetter(tx, letter_id, user_id ?? null, namedMax)),
      ),
    leak_gathered: gathered,
    leaks_gathered: gathered,
  }
}

/** Null: the recipient is no longer an owner, or the billing address was removed. */
function write(rows: readonly LetterRow[]): Letter | null {
  const [first] = rows
  if (first === undefined || first.email === null) return null
  const text = rows.length === 1 ? aboutOne(first) : aboutSeveral(rows, first)
  return { to: first.email, ...text, afterword }
}

type Text = Pick<Letter, 'subject' | 'paragraphs'>

function aboutOne(leak: LetterRow): Text {
  const noun = nouns[leak.kind]
  return {
    subject: `${noun} of ${nameInLetter(leak.workspace_name, 'your workspace')} was found in public`,
    paragraphs: [
      `${noun} of ${workspaceInWords(leak.workspace_name)} that begins with ${leak.display_prefix} was reported as public. ${placeOf(leak)}`,
      done[leak.kind],
      ...endedWith(leak),
      next[leak.kind],
    ],
  }
}

/** Secret keys come first, since more depends on them. */
function aboutSeveral(rows: readonly LetterRow[], first: LetterRow): Text {
  const { workspace_name, named, named_secret_keys, named_sessions } = first
  const kinds = [
    ...(named_secret_keys > 0 ? [several.secret_key] : []),
    ...(named_sessions > 0 ? [several.session] : []),
    ...(named_secret_keys + named_sessions < named ? [several.api_key] : []),
  ]
  const many = named_sessions > 0 ? 'credentials' : 'keys'
  const what = `${named} ${kinds.length > 1 ? many : kinds[0]?.many}`
  return {
    subject: `${what} of ${nameInLetter(workspace_name, 'your workspace')} were found in public`,
    paragraphs: [
      `${what} of ${workspaceInWords(workspace_name)} were reported as public.`,
      ...rows.map(nameOf),
      ...(named > rows.length ? [`The audit log lists the other ${named - rows.length}.`] : []),
      [
        `Keyrail ${named_sessions > 0 ? 'ended' : 'revoked'} all of them at once.`,
        ...kinds.map(({ done }) => done),
      ].join(' '),
      ...kinds.map(({ next }) => next),
    ],
  }
}

const nounOf = { api_key: 'API key', secret_key: 'Secret key', session: 'Session' } as const

const nameOf = (leak: LetterRow): string =>
  [
    `${nounOf[leak.kind]} ${leak.credential_id}, which begins with ${leak.display_prefix}: ${placeOf(leak)}`,
    ...endedWith(leak),
  ].join(' ')

/** What was revoked with the credential because the credential had made it; empty if nothing was. */
function endedWith(leak: LetterRow): string[] {
  const { secret_keys_revoked: keys, invitations_revoked: invitations } = leak
  if (leak.is_ending)
    return ['What was made with it, directly or through keys made with it, is being revoked as well.']
  const counted = [
    ...(keys > 0 ? [`${keys} secret ${keys === 1 ? 'key' : 'keys'}`] : []),
    ...(invitations > 0
      ? [`${invitations} pending ${invitations === 1 ? 'invitation' : 'invitations'}`]
      : []),
  ]
  if (counted.length === 0) return []
  const were = keys + invitations === 1 ? 'was' : 'were'
  return [
    `${counted.join(' and ')} made with it, directly or through keys made with it, ${were} revoked as well.`,
  ]
}

function placeOf({ url, source, is_url_hidden }: LetterRow): string {
  if (is_url_hidden) return 'The audit log says where it was found.'
  const kind = source === null ? '' : ` (${source})`
  return url === null ? `The report does not say where${kind}.` : `It was found at ${url}${kind}`
}
