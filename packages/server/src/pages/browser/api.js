/**
 * What the service answered. `status` is 0 where it could not be reached.
 *
 * @typedef {object} Answer
 * @property {boolean} ok
 * @property {number} status
 * @property {string} code of the error catalogue; empty where all is well or nothing is known
 * @property {readonly {path: string, message: string}[]} faults
 * @property {string | null} retryAfter in seconds
 * @property {string} requestId
 * @property {any} body
 */

/**
 * Calls the service that this page came from. No cookie goes with it, and whatever is secret is in the body or the
 * `Authorization` header, never in a URL.
 *
 * @param {'POST' | 'DELETE'} method
 * @param {string} path below `v1/`
 * @param {{body?: object, session?: string | null, keepalive?: boolean}} [parts]
 * @returns {Promise<Answer>}
 */
export async function call(method, path, { body, session, keepalive = false } = {}) {
  /** @type {Record<string, string>} */
  const headers = {}
  if (body !== undefined) headers['content-type'] = 'application/json'
  if (session) headers.authorization = `Bearer ${session}`
  try {
    const response = await fetch(new URL(`v1/${path}`, document.baseURI), {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      keepalive,
    })
    const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
    const answer = isJson ? await response.json() : {}
    return {
      ok: response.ok,
      status: response.status,
      code: answer.code ?? '',
      faults: answer.errors ?? [],
      retryAfter: response.headers.get('retry-after'),
      requestId: answer.request_id ?? response.headers.get('x-request-id') ?? '',
      body: answer,
    }
  } catch {
    return { ok: false, status: 0, code: '', faults: [], retryAfter: null, requestId: '', body: {} }
  }
}

/**
 * What to tell a person of an answer that is no matter of what they typed.
 *
 * @param {Answer} answer
 */
export function troubleOf({ status, retryAfter, requestId }) {
  if (status === 0) return 'Keyrail cannot be reached. Check your connection, then try again.'
  if (status === 429 || status === 503) {
    const seconds = Number(retryAfter)
    const when = seconds > 1 ? `in ${seconds} seconds` : 'in a moment'
    return `Keyrail is busy. Nothing has changed; try again ${when}.`
  }
  const name = requestId === '' ? '' : ` The operator can find it by ${requestId}.`
  return `Something went wrong on our side. Try again later.${name}`
}
