import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, afterEach, beforeEach } from 'node:test'
import tls from 'node:tls'
import { makeCertificate } from '../../../server/test/certificate.ts'
import { type FeedService, startFeedService } from '../feed-service.ts'
import { drawKey, policyKey } from '../keys.ts'
import { overEach } from '../transports.ts'
import { until } from '../until.ts'
import { openWitness } from './node.ts'

/** Services with a wrong certificate: a node sends them no request, and so no secret key. */

const right = makeCertificate()
const ofAnotherHost = makeCertificate('keys.example.com')
const untrusted = makeCertificate()
const trusted = tls.getCACertificates('default')
tls.setDefaultCACertificates([...trusted, right.cert, ofAnotherHost.cert])
after(() => tls.setDefaultCACertificates(trusted))

let service: FeedService
let front: Server
let requests = 0
const key = drawKey()
beforeEach(async () => {
  service = await startFeedService()
  service.upsert(policyKey(key, 1))
  requests = 0
  front = createServer({ key: right.key, cert: right.cert }, async (request, response) => {
    requests++
    const answer = await fetch(service.url + request.url, { headers: { authorization: 'Bearer x' } })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  }).listen(0, '127.0.0.1')
  await once(front, 'listening')
})
afterEach(async () => {
  front.closeAllConnections()
  front.close()
  await service.close()
})

const modes = {
  'a certificate of another host': ofAnotherHost,
  'an untrusted certificate': untrusted,
}
for (const [mode, { key: privateKey, cert }] of Object.entries(modes))
  overEach(`${mode}: it gets no request, is reported, and may be mended`, async fetch => {
    front.setSecureContext({ key: privateKey, cert })
    const { port } = front.address() as AddressInfo
    const { keyring, errors } = openWitness(service, { url: `https://localhost:${port}`, fetch })
    await using _closed = keyring
    await until(() => errors.length > 2, 'it is reported')
    assert.deepEqual([...new Set(errors.map(({ code }) => code))], ['network_error'])
    assert.match(errors[0]?.message ?? '', /its certificate is not trusted or belongs to another host/)
    assert.deepEqual([requests, keyring.verify(key).code], [0, 'not_ready'])
    front.setSecureContext({ key: right.key, cert: right.cert })
    await keyring.ready()
    assert.equal(keyring.verify(key).code, 'valid')
  })
