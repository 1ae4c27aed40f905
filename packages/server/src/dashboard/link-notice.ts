import { mailedPages } from '@keyrail/contract/mailed-pages'
import { type Notice, noticeOf } from './notice.ts'

/** What a person reads who opens a mailed link where the dashboard, which has its page, is not there. */

const reasons = {
  off: 'The page of this link belongs to the dashboard, and this installation runs without it.',
  failed:
    'The page of this link belongs to the dashboard, which could not be built. The log of the service says why.',
}

/** The calls that do what the page would do. */
const calls: Record<string, string> = {
  [mailedPages.verifyEmail]: `POST /v1/auth/email_verifications/consume
{"token": "…"}`,
  [mailedPages.resetPassword]: `POST /v1/auth/password_resets/consume
{"token": "…", "password": "the new password"}`,
  [mailedPages.acceptInvite]: `POST /v1/auth/invites/identify
{"token": "…"}

POST /v1/auth/users
{"email": "…", "password": "…"}

POST /v1/auth/sessions
{"email": "…", "password": "…"}

POST /v1/auth/invites/accept
Authorization: Bearer the token of the session
{"token": "…"}`,
}

/** @param page the address of a mailed link, without its token, which no server receives. */
export const linkNotice = (page: string, reason: keyof typeof reasons): Notice =>
  noticeOf(
    'This link cannot be opened here',
    `<p>${reasons[reason]}</p>
<p>The link has not been used, and works until it expires. Ask the people who run this installation of Keyrail, or call its
<a href="/docs">API</a>. The token is what follows <code>#token=</code> in the address of this page.</p>
<pre tabindex="0" aria-label="Calls of the API">${calls[page] ?? ''}</pre>`,
  )
