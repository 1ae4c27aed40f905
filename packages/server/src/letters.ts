import { inviteLetters } from './invites/letters.ts'
import { leakLetters } from './leaks/letters.ts'
import { personLetters } from './people/letters.ts'
import type { WriteLetter } from './platform/mail/deliver.ts'
import type { WriterParts } from './platform/mail/writer-parts.ts'
import { ownerLetters } from './security-events/letters.ts'
import { billingLetters } from './workspace/billing.ts'

/** Everything that the service writes to people, by kind. */
export const lettersOf = (parts: WriterParts): Readonly<Record<string, WriteLetter>> => ({
  ...personLetters(parts),
  ...inviteLetters(parts),
  ...billingLetters(parts),
  ...leakLetters(parts),
  ...ownerLetters(parts),
})
