import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { figuresOf } from '../../../test/figures.ts'
import { freePort } from '../../../test/free-port.ts'
import { ask, Installation, type Running, root } from '../../../test/installation.ts'
import { until } from '../../../test/until.ts'

/** Sockets and signals of a service whose standard output takes nothing. */
describe('a standard output that takes nothing', () => {
  let installation: Installation
  let url: string
  let metricsUrl: string
  before(() => {
    installation = new Installation()
  })
  beforeEach(async () => {
    const [port, metricsPort] = [await freePort(), await freePort()]
    url = `http://127.0.0.1:${port}`
    metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
    Object.assign(installation.env, { SERVICE_PORT: `${port}`, SERVICE_METRICS_PORT: `${metricsPort}` })
  })
  after(() => installation.remove())

  async function serveOn(stdout: number): Promise<Running> {
    const service = installation.start(['serve'], {}, stdout)
    let isOver = false
    service.ended.then(() => {
      isOver = true
    })
    await until(async () => isOver || (await ask(`${url}/readyz`))?.status === 200)
    assert.ok(!isOver, service.output.err)
    return service
  }

  const dropped = async () =>
    figuresOf(await (await fetch(metricsUrl)).text()).get('keyrail_log_lines_dropped_total') ?? 0

  /** Sends requests, a long line each, until lines are dropped; every one of them is answered. */
  async function askUntilDropped(): Promise<void> {
    const headers = { 'user-agent': 'words '.repeat(33) }
    while ((await dropped()) === 0) {
      const answers = Array.from({ length: 300 }, async () => {
        const response = await fetch(`${url}/.well-known/jwks.json`, { headers })
        await response.arrayBuffer()
        return response.status
      })
      assert.deepEqual([...new Set(await Promise.all(answers))], [200])
    }
  }

  /** Ends the service, which asks for nothing to be read. */
  async function end({ child, ended }: Running): Promise<void> {
    child.kill('SIGTERM')
    const { code, signal, err } = await ended
    assert.deepEqual([code, signal], [0, null])
    assert.doesNotMatch(err, /^\s+at /m)
    assert.deepEqual(installation.postgresPids(), [])
  }

  /** A pipe with this test as its reader, which may never read. */
  function openPipe(name: string): { write: number; read: number } {
    const path = join(installation.place.temp, name)
    execFileSync('mkfifo', [path])
    const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    return { read, write: openSync(path, constants.O_WRONLY) }
  }

  test('a pipe that no process reads costs lines, and neither an answer nor the end', async () => {
    const { read, write } = openPipe('unread')
    const service = await serveOn(write)
    await askUntilDropped()
    await end(service)
    closeSync(read)
    closeSync(write)
  })

  test('a socket that no process reads does the same', async () => {
    const service = installation.start(['serve'], {}, 'unread')
    await until(async () => (await ask(`${url}/readyz`))?.status === 200)
    await askUntilDropped()
    service.child.kill('SIGTERM')
    // Its output stays open until it is read.
    await until(() => service.child.exitCode !== null)
    assert.equal(service.child.exitCode, 0)
    service.child.stdout?.resume()
    await service.ended
  })

  test('a pipe that is read again gets whole lines, and one that says how many are missing', async () => {
    const { read, write } = openPipe('read-late')
    const service = await serveOn(write)
    await askUntilDropped()
    let text = ''
    const bytes = Buffer.alloc(65_536)
    const readAll = () => {
      try {
        for (let size = 1; size > 0; ) {
          size = readSync(read, bytes)
          text += bytes.toString('utf8', 0, size)
        }
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
      }
    }
    await until(() => {
      readAll()
      return /"msg":"log lines were dropped[^\n]+\n/.test(text)
    })
    assert.equal((await ask(`${url}/.well-known/jwks.json?late`))?.status, 200)
    const total = await dropped()
    await until(() => {
      readAll()
      return text.endsWith('"msg":"request"}\n')
    })
    service.child.kill('SIGTERM')
    await until(() => {
      readAll()
      return text.includes('"msg":"stopped"')
    })
    assert.equal((await service.ended).code, 0)
    closeSync(read)
    closeSync(write)
    const lines = text
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line))
    const said = lines.filter(({ msg }) => msg.startsWith('log lines were dropped'))
    assert.ok(total > 0)
    assert.deepEqual(
      said.map(({ level, lines }) => [level, lines]),
      [['warn', total]],
    )
  })

  test('a full disk costs lines, and neither an answer nor the end', async () => {
    const full = openSync('/dev/full', 'w')
    const service = await serveOn(full)
    await askUntilDropped()
    await end(service)
    closeSync(full)
  })

  test('an uncaught error still ends a service whose output is full with code 1', async () => {
    const full = openSync('/dev/full', 'w')
    const fault = `process.on('SIGUSR2', () => { throw new Error('no handler caught this') })`
    const preload = `data:text/javascript,${encodeURIComponent(fault)}`
    const args = ['--import', preload, 'packages/server/src/cli/main.ts', 'serve']
    const service = installation.run(process.execPath, args, {}, root, full)
    await until(async () => (await ask(`${url}/readyz`))?.status === 200)
    service.child.kill('SIGUSR2')
    const { code, err } = await service.ended
    assert.equal(code, 1)
    assert.match(err, /^Error: no handler caught this$/m)
    assert.deepEqual(installation.postgresPids(), [])
    closeSync(full)
  })
})
