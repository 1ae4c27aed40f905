/**
 * An API of fetch handlers protected by the installed package, for each runtime. Plain JavaScript, because the
 * oldest Node runs nothing else. It prints its address, and ends after a request for `/end`.
 */
export const programFor = (options: object): string => `
import { createIdempotency, createKeyring, createLimiter } from '@keyrail/sdk'
import { withKey } from '@keyrail/sdk/next'

const { settings, cacheDir } = ${JSON.stringify(options)}
const notices = []
const keyring = createKeyring({ ...settings, cachedTtlMs: 10_000, cacheDir, onNotice: ({ code }) => notices.push(code) })
await keyring.ready()
const patient = { ...settings, timeoutMs: 60_000 }
const idempotency = createIdempotency(patient)
const protection = { limiter: createLimiter(patient), idempotency }
let calls = 0
const read = withKey(keyring, (_, { apiKey }) => Response.json({ tenantId: apiKey.tenantId }), protection)
const write = withKey(keyring, () => Response.json({ calls: ++calls }, { status: 201 }), protection)

async function handle(request) {
  if (new URL(request.url).pathname !== '/end') return (request.method === 'POST' ? write : read)(request, {})
  await keyring.close()
  await idempotency.close()
  setTimeout(end)
  return Response.json({ notices, node: keyring.stats().node })
}

let end
if (globalThis.Bun) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: handle })
  end = () => server.stop()
  console.log('http://127.0.0.1:' + server.port)
} else if (globalThis.Deno) {
  const onListen = ({ port }) => console.log('http://127.0.0.1:' + port)
  const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen }, handle)
  end = () => server.shutdown()
} else {
  const { createServer } = await import('node:http')
  const server = createServer(async (incoming, outgoing) => {
    const { method, headers, url } = incoming
    const body = method === 'GET' ? undefined : incoming
    const response = await handle(new Request('http://' + headers.host + url, { method, headers, body, duplex: 'half' }))
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text())
  })
  server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port))
  end = () => {
    server.close()
    server.closeAllConnections()
  }
}
`
