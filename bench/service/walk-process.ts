import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { serveGenerator } from '../harness/generator.ts'

/**
 * A node that walks a snapshot page by page and discards the pages: how fast the service serves them, on one
 * connection. `count` counts keys too, which takes extra time.
 */
export type WalkPlan = { url: string; path: string; token: string; count: boolean }
export type WalkCounts = { pages: number; keys: number; bytes: number; ms: number; refused: number }

const REFUSED_MAX = 40
const KEY = Buffer.from('{"key_id":')

await serveGenerator<WalkPlan, WalkCounts>(async ({ url, path, token, count }) => {
  const agent = new Agent({ keepAlive: true })
  const headers = { authorization: `Bearer ${token}` }
  const total = { pages: 0, keys: 0, bytes: 0, ms: 0, refused: 0 }
  const startedAt = performance.now()
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const page = await read(new URL(path + cursor, url), { agent, headers })
    if (page === null) {
      // A store that is still writing the filled rows; the time counts.
      if (++total.refused > REFUSED_MAX) throw new Error(`refused ${total.refused} times`)
      await sleep(250)
      continue
    }
    total.pages++
    total.bytes += page.bytes
    if (count) total.keys += keysIn(Buffer.concat(page.chunks))
    // The cursor precedes the keys.
    const next = /"next_cursor":"([^"]+)"/.exec(page.chunks[0]?.toString('utf8', 0, 2_048) ?? '')?.[1]
    cursor = next && `&cursor=${next}`
  }
  total.ms = performance.now() - startedAt
  agent.destroy()
  return total
})

function read(url: URL, options: { agent: Agent; headers: Record<string, string> }) {
  const { promise, resolve, reject } = Promise.withResolvers<{ bytes: number; chunks: Buffer[] } | null>()
  get(url, options, response => {
    if (response.statusCode === 503) {
      response.resume()
      return resolve(null)
    }
    if (response.statusCode !== 200) reject(new Error(`${url.pathname} answered ${response.statusCode}`))
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      chunks.push(chunk)
    })
    response.on('end', () => resolve({ bytes, chunks }))
    response.on('error', reject)
  }).on('error', reject)
  return promise
}

function keysIn(page: Buffer): number {
  let keys = 0
  for (let at = page.indexOf(KEY); at !== -1; at = page.indexOf(KEY, at + KEY.length)) keys++
  return keys
}
