import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { codeBlocks, readDocument, section } from '../docs/documents.ts'
import { makeDatabase, testCluster } from '../packages/server/test/database.ts'
import { Installation, root, urlOf } from '../packages/server/test/installation.ts'

test('installed as its page says, the SDK sends the spans of a request to a collector', async () => {
  const place = mkdtempSync(join(tmpdir(), 'keyrail-otel-'))
  const folder = join(place, 'otel')
  const [install] = codeBlocks(section(readDocument('docs/operations.md'), 'Traces'))
  assert.ok(install)
  assert.ok(install.text.includes('/opt/otel'))
  const installed = spawnSync('bash', ['-euc', install.text.replaceAll('/opt/otel', folder)], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, npm_config_prefer_offline: 'true' },
  })
  assert.equal(installed.status, 0, installed.stderr)

  const received: { path: string | undefined; body: Buffer }[] = []
  const collector = createServer(async (request, response) => {
    received.push({ path: request.url, body: await buffer(request) })
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  const database = await makeDatabase(testCluster())
  const installation = new Installation({
    DATABASE_URL: urlOf(database.connection),
    SERVICE_DASHBOARD: 'off',
  })
  after(async () => {
    await installation.remove()
    await database.drop()
    collector.close()
    rmSync(place, { recursive: true, force: true })
  })
  const { port } = collector.address() as AddressInfo
  const serving = await installation.serve({
    NODE_OPTIONS: `--import ${join(folder, 'otel.mjs')}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  })
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` }
  // The first reads the database; the second is in the log, where probes are not.
  for (const path of ['/readyz', '/.well-known/jwks.json'])
    assert.equal((await fetch(`${serving.url}${path}`, { headers })).status, 200, path)
  // What waits to be sent is sent before the end.
  serving.child.kill('SIGTERM')
  const { code, out, err } = await serving.ended
  assert.equal(code, 0, err)
  assert.doesNotMatch(out, /OTEL_… is set/)
  assert.ok(out.includes(`"trace_id":"${traceId}"`), out)

  assert.ok(received.length > 0, out)
  for (const { path } of received) assert.equal(path, '/v1/traces')
  const all = Buffer.concat(received.map(({ body }) => body))
  // In the wire format a trace is its 16 bytes, and a name is as it is.
  for (const part of [
    Buffer.from(traceId, 'hex'),
    'GET /readyz',
    'lane readiness',
    'service.name',
    'keyrail',
  ])
    assert.ok(all.includes(part), String(part))
})
