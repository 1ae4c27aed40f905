import { drawMailedToken } from '../platform/crypto/mailed-token.ts'
import type { WriteLetter } from '../platform/mail/deliver.ts'
import type { Letter } from '../platform/mail/letter.ts'
import type { WriterParts } from '../platform/mail/writer-parts.ts'
import { iso } from '../platform/time.ts'
import { agentInWords } from '../platform/user-agent.ts'
import { readSessionForLetter, readUser, storeToken, type TokenKind, type UserRow } from './sql.ts'

const hoursValid = { verification: 24, password_reset: 1 } as const satisfies Record<TokenKind, number>

/** The letters to people about their accounts. Each goes to the address as it is stored. */
export function personLetters({ db, randomBytes, publicUrl }: WriterParts): Record<string, WriteLetter> {
  const about =
    (compose: (user: UserRow) => Omit<Letter, 'to' | 'greeting'> | null): WriteLetter =>
    ({ user_id = '' }) =>
      db.asPerson(user_id, async tx => {
        const user = await readUser(tx)
        const letter = user === null ? null : compose(user)
        return user === null || letter === null ? null : { ...letter, to: user.email, ...greetingOf(user) }
      })
  /** A link with a token of its own, which retires the one before. */
  const withToken =
    (
      kind: TokenKind,
      compose: (user: UserRow, token: string) => Omit<Letter, 'to' | 'greeting'>,
    ): WriteLetter =>
    ({ user_id = '' }) =>
      db.asPerson(user_id, async tx => {
        const user = await readUser(tx)
        // Verified meanwhile: there is nothing left to prove.
        if (user === null || (kind === 'verification' && user.email_verified_at !== null)) return null
        const { token, digest } = drawMailedToken(user.id, randomBytes)
        storeToken(tx, kind, digest, hoursValid[kind])
        return { ...compose(user, token), to: user.email, ...greetingOf(user) }
      })

  return {
    verification: withToken('verification', (_user, token) => ({
      subject: 'Verify your e-mail address',
      paragraphs: [
        'Somebody, probably you, signed up for Keyrail with this address. Verify that it is yours.',
      ],
      action: { label: 'Verify e-mail address', url: `${publicUrl}/verify-email#token=${token}` },
      afterword:
        'The link works once, for 24 hours. If it was not you, do nothing: without it the account stays unverified.',
    })),
    sign_up_notice: about(() => ({
      subject: 'You already have an account',
      paragraphs: [
        'Somebody, probably you, tried to sign up for Keyrail with this address. It has an account already, and nothing was changed.',
        'Sign in as you are used to. If you have forgotten the password, ask for a reset link where you sign in.',
      ],
      afterword: 'If it was not you, there is nothing to do.',
    })),
    password_reset: withToken('password_reset', (_user, token) => ({
      subject: 'Reset your password',
      paragraphs: ['Somebody, probably you, asked to reset the password of your Keyrail account.'],
      action: { label: 'Choose a new password', url: `${publicUrl}/reset-password#token=${token}` },
      afterword:
        'The link works once, for an hour, and ends every session. If it was not you, do nothing: the password stays as it is.',
    })),
    password_changed: about(() => ({
      subject: 'Your password was changed',
      paragraphs: [
        'The password of your Keyrail account was changed, and your other sessions were ended.',
        'If it was not you, somebody else can get into your account or your mail: reset the password where you sign in, at once.',
      ],
    })),
    new_device: ({ user_id = '', session_id = '' }) =>
      db.asPerson(user_id, async tx => {
        const [user, session] = await Promise.all([readUser(tx), readSessionForLetter(tx, session_id)])
        if (user === null || session === null) return null
        const { ip, user_agent, created_at } = session
        return {
          to: user.email,
          ...greetingOf(user),
          subject: 'You signed in from a new device',
          paragraphs: [
            `Your Keyrail account was signed in to at ${iso(created_at)}, with ${agentInWords(user_agent)}, from the address ${ip ?? 'unknown'}. You have not used this program in this network in the last 90 days.`,
            'If it was you, there is nothing to do.',
            'If it was not you, somebody knows your password. Ask for a reset link where you sign in, at once: a new password ends every session. Then look through your security events (GET /v1/auth/security_events).',
          ],
        }
      }),
    leaked_session: ({ user_id = '', session_id = '' }) =>
      db.asPerson(user_id, async tx => {
        const [user, session] = await Promise.all([readUser(tx), readSessionForLetter(tx, session_id)])
        if (user === null || session === null) return null
        const { leaked_url: url, created_at } = session
        const where = url === null ? 'It was not said where.' : `It was found at ${url}`
        return {
          to: user.email,
          ...greetingOf(user),
          subject: 'A session of yours was found in public, and ended',
          paragraphs: [
            `The token of the session that you opened at ${iso(created_at)} was reported as readable by others. ${where}`,
            'The session was ended at once. Until then, whoever has read the token could do in Keyrail what you can.',
            'Secret keys and invitations that were made in it were revoked with it; the audit log of the workspace lists them.',
            'Sign in again, look through your sessions, and take the token out of where it was found.',
          ],
        }
      }),
  }
}

/** An address that nobody has verified is not greeted: the name is what a stranger has chosen to say to it. */
const greetingOf = ({ name, email_verified_at }: UserRow) =>
  name === null || email_verified_at === null ? {} : { greeting: `Hello ${name},` }
