import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { after, test } from 'node:test'
import { ask, Installation, type Serving } from '../../../test/installation.ts'
import { peakMiB } from '../../../test/peak-memory.ts'

const mebibyte = 1_048_576
const atOnce = 100
const body = 'A'.repeat(6 * mebibyte)
const claimOf = (i: number) => ({ scope_hash: i.toString(16).padStart(64, '0'), env: 'live' })

/** Connections stay open, so that unread bodies are discarded and no reset overtakes the response. */
const agent = new Agent({ keepAlive: true })
after(() => agent.destroy())

/** Sends a completion. All requests share its large part, so that only the service holds many copies. */
async function complete({ url }: Serving, token: string, i: number, lockToken: string) {
  const [head = '', tail = ''] = JSON.stringify({
    ...claimOf(i),
    lock_token: lockToken,
    status: 200,
    body: '#',
  }).split('#')
  const call = request(`${url}/v1/idempotency/complete`, {
    method: 'POST',
    agent,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': head.length + large.length + tail.length,
    },
  })
  call.write(head)
  call.write(large)
  call.end(tail)
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  const { verdict, code } = JSON.parse(Buffer.concat(chunks).toString())
  return { status: response.statusCode, retryAfter: response.headers['retry-after'], verdict, code }
}
const large = Buffer.from(body)

test('a hundred bodies of 6 MiB at once: memory stays bounded, and small requests pass', async () => {
  const installation = new Installation()
  after(() => installation.remove())
  const service = await installation.serve()
  const { body: workspace } = (await ask(`${service.url}/v1/workspaces`, {
    token: installation.token,
    body: { name: 'Acme', slug: 'acme' },
  })) ?? { body: null }
  const token: string = workspace.secret_key.key
  const call = async (name: string, i: number, more: object) =>
    await ask(`${service.url}/v1/idempotency/${name}`, { token, body: { ...claimOf(i), ...more } })
  const fingerprint = '0'.repeat(64)
  const tokens: string[] = []
  for (let i = 0; i <= atOnce; i++) tokens.push((await call('claim', i, { fingerprint }))?.body.lock_token)

  const before = peakMiB(installation.listenerOf(service.url))
  let isOver = false
  const completions = Promise.all(
    tokens.slice(0, atOnce).map((lockToken, i) => complete(service, token, i, lockToken)),
  ).finally(() => {
    isOver = true
  })
  let served = 0
  while (!isOver) {
    const small = await call('heartbeat', atOnce, { lock_token: tokens[atOnce] })
    // A database that misses the deadline gives a 503; every request gets a response.
    if (small?.status !== 503) assert.deepEqual([small?.status, small?.body.verdict], [200, 'extended'])
    served += small?.status === 200 ? 1 : 0
  }
  const heard = await completions
  const grown = peakMiB(installation.listenerOf(service.url)) - before
  assert.ok(served > 0)

  const refused = heard.filter(({ status }) => status === 503 || status === 429)
  const done = heard.filter(({ status, verdict }) => status === 200 && verdict === 'completed')
  assert.equal(refused.length + done.length, atOnce)
  assert.ok(refused.length > 0 && done.length > 0, `${refused.length} refused, ${done.length} done`)
  assert.ok(refused.some(({ retryAfter, code }) => retryAfter === '1' && code === 'too_many_in_flight'))
  // A budget of 64 MiB, each byte of which exists several times: as received, as text, as bytes, and as sent on.
  assert.ok(grown < 512, `grew by ${Math.round(grown)} MiB`)

  for (const [i, { status }] of heard.entries()) {
    const claimed = await call('claim', i, { fingerprint })
    // The database may have missed the deadline: then everything is stored, or nothing.
    const whole = claimed?.body.verdict === 'replay' && claimed.body.response.body === body
    assert.ok(whole || (status !== 200 && claimed?.body.verdict === 'in_progress'), `${i} is half done`)
  }
})
