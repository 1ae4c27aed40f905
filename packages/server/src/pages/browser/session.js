import { call } from './api.js'

/** The session's token. It is kept here and nowhere else, and ended when the page has done its work or is left. */
let token = /** @type {string | null} */ (null)

/**
 * @param {string} email
 * @param {string} password
 */
export async function signIn(email, password) {
  await signOut()
  const answer = await call('POST', 'auth/sessions', { body: { email, password } })
  if (answer.ok) token = answer.body.token
  return answer
}

/**
 * Calls the service as the person who is signed in.
 *
 * @param {string} path
 * @param {object} [body]
 */
export const callSignedIn = (path, body) =>
  call('POST', path, body === undefined ? { session: token } : { session: token, body })

/** Should it not be reached, the session ends by itself. */
export async function signOut() {
  const ended = token
  token = null
  if (ended !== null) await call('DELETE', 'auth/sessions/current', { session: ended, keepalive: true })
}

// Also of a page that the browser keeps for the way back: it must not come back signed in.
addEventListener('pagehide', () => void signOut())
