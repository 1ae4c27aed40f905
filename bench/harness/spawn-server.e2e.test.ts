import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freePort, spawnServer } from './spawn-server.ts'

const bare = join(import.meta.dirname, 'bare-fastify.ts')
const folder = mkdtempSync(join(tmpdir(), 'keyrail-spawn-'))
after(() => rmSync(folder, { recursive: true }))

function script(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a server is returned when its health URL answers, and has ended after close', async () => {
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const answer = '{"allowed":true}'
  const server = await spawnServer({
    script: bare,
    args: ['--port', port, '--answer', answer],
    ready: { url: `${url}/healthz` },
  })
  try {
    assert.equal(await (await fetch(`${url}/echo`)).text(), answer)
    assert.ok(server.readyMs > 0)
    assert.ok(server.cpuSeconds() >= 0)
  } finally {
    await server.close()
  }
  assert.ok(!isAlive(server.pid))
})

test('a server is returned when it prints the line, with the match of the pattern', async () => {
  const path = script(
    'line.mjs',
    `console.log('listening on ' + 4242); setInterval(() => console.log('log'), 1)`,
  )
  const server = await spawnServer({ script: path, ready: { line: /listening on (\d+)/ } })
  assert.equal(server.readyMatch?.[1], '4242')
  await server.kill()
  assert.ok(!isAlive(server.pid))
})

test('the environment is that of production, plus given variables', async () => {
  const path = script(
    'env.mjs',
    `console.log(process.env.NODE_ENV + ' ' + process.env.EXTRA); setInterval(() => {}, 9e4)`,
  )
  const server = await spawnServer({ script: path, env: { EXTRA: 'yes' }, ready: { line: /(\w+) (\w+)/ } })
  await server.close()
  assert.equal(server.readyMatch?.[0], 'production yes')
})

test('peak memory can be read, and restarts at the present size', async () => {
  const text = `let block = Buffer.alloc(200 << 20, 1); block = null; gc(); console.log('grown'); setInterval(() => {}, 9e4)`
  const server = await spawnServer({
    script: script('memory.mjs', text),
    nodeArgs: ['--expose-gc'],
    ready: { line: /grown/ },
  })
  try {
    const before = server.peakRssBytes()
    server.resetPeakRss()
    assert.ok(before > 200 * 2 ** 20)
    assert.ok(server.peakRssBytes() < before - 100 * 2 ** 20)
  } finally {
    await server.close()
  }
})

test('a server that ends before it is ready fails with its last output', async () => {
  const path = script('broken.mjs', `console.error('no such database'); process.exit(3)`)
  await assert.rejects(
    spawnServer({ script: path, ready: { url: 'http://127.0.0.1:9/' } }),
    /ended with 3 before it was ready: no such database/,
  )
})

test('a server that never becomes ready fails and is stopped', async () => {
  const path = script('mute.mjs', `console.error('pid ' + process.pid); setInterval(() => {}, 9e4)`)
  const refused = spawnServer({ script: path, ready: { line: /never/ }, readyWithinMs: 2_000 })
  const error = await refused.then(
    () => undefined,
    (reason: Error) => reason,
  )
  const pid = Number(/within 2000 ms: pid (\d+)/.exec(error?.message ?? '')?.[1])
  assert.ok(pid > 0, error?.message)
  assert.ok(!isAlive(pid))
})

test('a server that ignores SIGTERM is killed', async () => {
  const path = script(
    'deaf.mjs',
    `process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 9e4)`,
  )
  const server = await spawnServer({ script: path, ready: { line: /up/ } })
  await server.close()
  assert.ok(!isAlive(server.pid))
})
