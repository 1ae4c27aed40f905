import { mailedPages } from '@keyrail/contract/mailed-pages'
import { drawMailedToken } from '../platform/crypto/mailed-token.ts'
import type { PersonTx } from '../platform/db/transaction.ts'
import { agentInWords } from '../platform/http/user-agent.ts'
import type { WriteLetter } from '../platform/mail/deliver.ts'
import type { Letter } from '../platform/mail/letter.ts'
import { nameInLetter } from '../platform/mail/subject.ts'
import type { WriterParts } from '../platform/mail/writer-parts.ts'
import { iso } from '../platform/time.ts'
import { readSessionForLetter } from './session-sql.ts'
import { readUser, storeToken, type UserRow } from './sql.ts'

const hoursValid = { verification: 24, password_reset: 1 } as const

type LetterText = Omit<Letter, 'to' | 'greeting'>

/** Mails to people about their accounts, each sent to the address as it is stored. */
export function personLetters({ db, randomBytes, publicUrl }: WriterParts): Record<string, WriteLetter> {
  const about =
    (compose: (user: UserRow) => LetterText | null): WriteLetter =>
    ({ user_id = '' }) =>
      db.asPerson(user_id, async tx => {
        const user = await readUser(tx)
        const letter = user === null ? null : compose(user)
        return user === null || letter === null ? null : { ...letter, to: user.email, ...greetingOf(user) }
      })
  /** A mail with a new token in its link. The new token replaces the old one. */
  const withToken =
    (kind: keyof typeof hoursValid, compose: (user: UserRow, token: string) => LetterText): WriteLetter =>
    ({ user_id = '' }) =>
      db.asPerson(user_id, async tx => {
        const user = await readUser(tx)
        // The address was verified after the job was queued.
        if (user === null || (kind === 'verification' && user.email_verified_at !== null)) return null
        const { token, digest } = drawMailedToken(user.id, randomBytes)
        storeToken(tx, kind, digest, hoursValid[kind])
        return { ...compose(user, token), to: user.email, ...greetingOf(user) }
      })
  const aboutSession =
    (compose: (tx: PersonTx, sessionId: string) => Promise<Letter | null>): WriteLetter =>
    ({ user_id = '', session_id = '' }) =>
      db.asPerson(user_id, tx => compose(tx, session_id))

  return {
    verification: withToken('verification', (_user, token) =>
      verification(`${publicUrl}${mailedPages.verifyEmail}#token=${token}`),
    ),
    sign_up_notice: about(() => signUpNotice),
    password_reset: withToken('password_reset', (_user, token) =>
      passwordReset(`${publicUrl}${mailedPages.resetPassword}#token=${token}`),
    ),
    password_changed: about(() => passwordChanged),
    new_device: aboutSession(newDevice),
    leaked_session_gathered: about(() => leakedSessionGathered),
    leaked_session: aboutSession(leakedSession),
  }
}

const verification = (url: string): LetterText => ({
  subject: 'Verify your e-mail address',
  paragraphs: [
    'Someone, probably you, signed up for Keyrail with this e-mail address. Verify that it is yours.',
  ],
  action: {
    label: 'Verify e-mail address',
    url,
  },
  afterword:
    'The link works once, for 24 hours. If this was not you, ignore this e-mail: the account stays unverified.',
})

const signUpNotice: LetterText = {
  subject: 'You already have an account',
  paragraphs: [
    'Someone, probably you, tried to sign up for Keyrail with this e-mail address. You already have an account, and nothing was changed.',
    'Sign in with your password. If you have forgotten it, request a reset link where you sign in.',
  ],
  afterword: 'If this was not you, you do not need to do anything.',
}

const passwordReset = (url: string): LetterText => ({
  subject: 'Reset your password',
  paragraphs: ['Someone, probably you, asked to reset the password of your Keyrail account.'],
  action: {
    label: 'Choose a new password',
    url,
  },
  afterword:
    'The link works once, for one hour. A new password ends every session. If this was not you, ignore this e-mail: your password does not change.',
})

const passwordChanged: LetterText = {
  subject: 'Your password was changed',
  paragraphs: [
    'The password of your Keyrail account was changed, and your other sessions have ended.',
    'If this was not you, someone has access to your account or your e-mail. Reset your password at once, where you sign in.',
  ],
}

async function newDevice(tx: PersonTx, sessionId: string): Promise<Letter | null> {
  const [user, session] = await Promise.all([readUser(tx), readSessionForLetter(tx, sessionId)])
  if (user === null || session === null) return null
  const { ip, user_agent, created_at } = session
  return {
    to: user.email,
    ...greetingOf(user),
    subject: 'You signed in from a new device',
    paragraphs: [
      `Someone signed in to your Keyrail account at ${iso(created_at)}, with ${agentInWords(user_agent)}, from the IP address ${ip ?? 'unknown'}. You have not used this program on this network in the last 90 days.`,
      'If this was you, you do not need to do anything.',
      'If this was not you, someone knows your password. Request a reset link at once, where you sign in: a new password ends every session. Then review your security events (GET /v1/auth/security_events).',
    ],
  }
}

const leakedSessionGathered: LetterText = {
  subject: 'More of your sessions were found in public and have ended',
  paragraphs: [
    'Beyond the e-mails that you got, more tokens of your sessions were reported as public. Keyrail ended these sessions at once, with the secret keys and invitations made in them.',
    'Sign in again, and review your sessions and your security events (GET /v1/auth/security_events), which list every one.',
  ],
}

async function leakedSession(tx: PersonTx, sessionId: string): Promise<Letter | null> {
  const [user, session] = await Promise.all([readUser(tx), readSessionForLetter(tx, sessionId)])
  if (user === null || session === null) return null
  const { leaked_url: url, created_at } = session
  const where = placeInWords(url, user)
  return {
    to: user.email,
    ...greetingOf(user),
    subject: 'Your session was found in public and has ended',
    paragraphs: [
      `The token of the session that you opened at ${iso(created_at)} was reported as public. ${where}`,
      'Keyrail ended the session at once. Until then, anyone with the token could do what you can do in Keyrail.',
      'Secret keys and invitations made in the session were revoked with it. The audit log of each workspace lists them.',
      'Sign in again, review your sessions, and remove the token from the place where it was found.',
    ],
  }
}

/**
 * A stranger can choose the name at sign-up, even for an address that its owner verifies later, so no letter greets with the
 * name.
 */
const greetingOf = ({ name, name_is_own }: UserRow) => {
  const known = name_is_own ? nameInLetter(name, '') : ''
  return known === '' ? {} : { greeting: `Hello ${known},` }
}

/** Where a session was found. A stranger can choose the place, so it is not mailed to an unverified address. */
const placeInWords = (url: string | null, { email_verified_at }: UserRow) => {
  if (url === null) return 'The report does not say where.'
  return email_verified_at === null ? 'The audit log says where it was found.' : `It was found at ${url}`
}
