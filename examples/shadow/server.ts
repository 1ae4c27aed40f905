import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { createKeyrail } from '@keyrail/sdk'
import { onStop, port, sayWhere, settings } from '../settings.ts'

/** Keyrail beside an old check, which decides. Prints where the two disagree, with counts by cause. */

const keyrail = createKeyrail({ ...settings, keys: { shadow: true } })
await keyrail.ready()

/** The old check: digests of keys, separated by commas. */
const { OLD_KEY_DIGESTS = '' } = process.env
const oldDigests = new Set(OLD_KEY_DIGESTS.split(','))
const oldCheck = (key: string): boolean => oldDigests.has(createHash('sha256').update(key).digest('base64'))

const server = createServer((request, response) => {
  const [, key = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  const accepted = oldCheck(key)
  const verdict = keyrail.keys.compare(key, accepted)
  if (verdict.valid !== accepted) sayWhereTheyDisagree(verdict.code, accepted)
  response.writeHead(accepted ? 200 : 401, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ accepted }))
})

function sayWhereTheyDisagree(code: string, accepted: boolean): void {
  const { agreed = 0, refusedHere = {}, acceptedHere = 0 } = keyrail.keys.stats().shadow ?? {}
  const counts = Object.entries(refusedHere).map(([cause, count]) => `${cause} ${count}`)
  console.log(
    `The old check ${accepted ? 'accepts' : 'refuses'} a key that is ${code} here.`,
    `Agreed: ${agreed}; refused here alone: ${counts.join(', ') || 'none'}; accepted here alone: ${acceptedHere}`,
  )
}

server.listen(port, '127.0.0.1', () => sayWhere(server.address()))
onStop(async () => {
  server.close()
  server.closeAllConnections()
  await keyrail.close()
})
