import { agentInWords } from '../platform/http/user-agent.ts'
import type { WriteLetter } from '../platform/mail/deliver.ts'
import type { Letter } from '../platform/mail/letter.ts'
import { nameInLetter, workspaceInWords } from '../platform/mail/subject.ts'
import type { WriterParts } from '../platform/mail/writer-parts.ts'
import { iso } from '../platform/time.ts'
import { type OwnerLetterRow, readOwnerLetter, readOwnerLetters } from './sql.ts'

/** How many events a letter names that gathers several. */
const namedMax = 50

/** Mails to the owners of a workspace about others who get the rights of an owner. */
export function ownerLetters({ db }: Pick<WriterParts, 'db'>): Record<string, WriteLetter> {
  const about =
    (compose: (row: OwnerLetterRow) => Omit<Letter, 'to'>): WriteLetter =>
    ({ workspace_id = '', event_id = '', user_id }) =>
      db.inWorkspace(workspace_id, async tx => {
        const row = await readOwnerLetter(tx, event_id, user_id ?? null)
        // The recipient is no longer an owner, or the billing address was removed.
        return row === null || row.email === null ? null : { ...compose(row), to: row.email }
      })
  /** A letter about what had no space in the hour before, and what followed. */
  const gathering =
    (compose: (rows: readonly OwnerLetterRow[], first: OwnerLetterRow) => Omit<Letter, 'to'>): WriteLetter =>
    ({ workspace_id = '', event_id = '', user_id }) =>
      db.inWorkspace(workspace_id, async tx => {
        const rows = await readOwnerLetters(tx, event_id, user_id ?? null, namedMax)
        const [first] = rows
        return first === undefined || first.email === null
          ? null
          : { ...compose(rows, first), to: first.email }
      })
  return {
    owner_added_gathered: gathering((rows, first) => ({
      subject: `${nameInLetter(first.workspace_name, 'Your workspace')} has more new owners`,
      paragraphs: [
        `Beyond the e-mails that you got, ${first.named} more times a person became an owner of ${workspaceInWords(first.workspace_name)}.`,
        ...rows.map(row => `${row.subject_name ?? 'Someone'}, at ${iso(row.created_at)}. ${byWhom(row)}`),
        ...othersOf(rows, first),
        'If you did not expect this, remove these members at once, and revoke the secret keys that they made.',
      ],
      afterword,
    })),
    owner_key_created_gathered: gathering((rows, first) => ({
      subject: `${nameInLetter(first.workspace_name, 'Your workspace')} has more secret keys with an owner’s rights`,
      paragraphs: [
        `Beyond the e-mails that you got, ${first.named} more secret keys with an owner’s rights were created in ${workspaceInWords(first.workspace_name)}. They begin with:`,
        ...rows.map(
          row => `${row.subject_name ?? 'An unknown prefix'}, at ${iso(row.created_at)}. ${byWhom(row)}`,
        ),
        ...othersOf(rows, first),
        'If you did not expect this, revoke these keys at once.',
      ],
      afterword,
    })),
    owner_added: about(row => ({
      subject: `${nameInLetter(row.workspace_name, 'Your workspace')} has a new owner`,
      paragraphs: [
        `${row.subject_name ?? 'Someone'} became an owner of ${workspaceInWords(row.workspace_name)} at ${iso(row.created_at)}. ${byWhom(row)}`,
        'An owner can do everything in the workspace: read and revoke keys, create secret keys, and invite and remove people.',
        'If you expected this, you do not need to do anything. If not, remove this member at once, revoke the secret keys that they made, and review the security events (GET /v1/security_events) and the audit log of the workspace.',
      ],
      afterword,
    })),
    owner_key_created: about(row => ({
      subject: `${nameInLetter(row.workspace_name, 'Your workspace')} has a new secret key with an owner’s rights`,
      paragraphs: [
        `A secret key with an owner’s rights was created in ${workspaceInWords(row.workspace_name)} at ${iso(row.created_at)}. It begins with ${row.subject_name ?? 'an unknown prefix'}. ${byWhom(row)}`,
        'Anyone with the key can change access to the workspace: remove people, or create secret keys.',
        'If you expected this, you do not need to do anything. If not, revoke the key at once, and review the security events (GET /v1/security_events) and the audit log of the workspace.',
      ],
      afterword,
    })),
  }
}

const afterword =
  'Every owner gets this e-mail. Beyond five of a kind in an hour, one more e-mail gathers the rest; the security events list them all.'

const othersOf = (rows: readonly OwnerLetterRow[], { named }: OwnerLetterRow): string[] =>
  named > rows.length
    ? [`The security events (GET /v1/security_events) list the other ${named - rows.length}.`]
    : []

function byWhom({ actor_type, actor_name, ip, user_agent }: OwnerLetterRow): string {
  const from = ip === null ? '' : `, from the IP address ${ip}, with ${agentInWords(user_agent)}`
  if (actor_type === 'operator') return 'The operator of the service did this on the server.'
  if (actor_type === 'user')
    return `${actor_name ?? 'A person whose account no longer exists'} did this${from}.`
  const key = actor_name === null ? 'A secret key' : `The secret key that begins with ${actor_name}`
  return `${key} was used for this${from}.`
}
