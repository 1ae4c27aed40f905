import type { WriteLetter } from '../platform/mail/deliver.ts'
import type { Letter } from '../platform/mail/letter.ts'
import type { WriterParts } from '../platform/mail/writer-parts.ts'
import { iso } from '../platform/time.ts'
import { agentInWords } from '../platform/user-agent.ts'
import { type OwnerLetterRow, readOwnerLetter } from './sql.ts'

/** The letters to the owners of a workspace about who else can do what they can. */
export function ownerLetters({ db }: Pick<WriterParts, 'db'>): Record<string, WriteLetter> {
  const about =
    (compose: (row: OwnerLetterRow) => Omit<Letter, 'to'>): WriteLetter =>
    ({ workspace_id = '', event_id = '', user_id }) =>
      db.inWorkspace(workspace_id, async tx => {
        const row = await readOwnerLetter(tx, event_id, user_id ?? null)
        // No owner any more, or no billing address.
        return row === null || row.email === null ? null : { ...compose(row), to: row.email }
      })
  return {
    owner_added: about(row => ({
      subject: `${row.workspace_name} has a new owner`,
      paragraphs: [
        `${row.subject_name ?? 'Somebody'} became an owner of the workspace “${row.workspace_name}” at ${iso(row.created_at)}. ${byWhom(row)}`,
        'An owner can do everything in the workspace: read and revoke keys, make secret keys, invite and remove people.',
        'If you expected this, there is nothing to do. If not, remove this member at once, revoke the secret keys that they made, and look through the security events of the workspace (GET /v1/security_events) and its audit log.',
      ],
      afterword,
    })),
    owner_key_created: about(row => ({
      subject: `${row.workspace_name} has a new secret key with an owner’s rights`,
      paragraphs: [
        `A secret key with an owner’s rights was made in the workspace “${row.workspace_name}” at ${iso(row.created_at)}. It begins with ${row.subject_name ?? 'an unknown prefix'}. ${byWhom(row)}`,
        'Whoever has it can change who may act in the workspace: remove people, or make secret keys.',
        'If you expected this, there is nothing to do. If not, revoke the key at once, and look through the security events of the workspace (GET /v1/security_events) and its audit log.',
      ],
      afterword,
    })),
  }
}

const afterword =
  'Every owner gets this letter. An address is sent five of a kind an hour at most; the security events have them all.'

function byWhom({ actor_type, actor_name, ip, user_agent }: OwnerLetterRow): string {
  const from = ip === null ? '' : `, from the address ${ip}, with ${agentInWords(user_agent)}`
  if (actor_type === 'operator') return 'The operator of the service did this on its machine.'
  if (actor_type === 'user') return `${actor_name ?? 'A person who is gone'} did this${from}.`
  const key = actor_name === null ? 'A secret key' : `The secret key that begins with ${actor_name}`
  return `${key} was used for this${from}.`
}
