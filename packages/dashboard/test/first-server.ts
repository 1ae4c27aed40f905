import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { freePort } from '../../server/test/redis-server.ts'
import { until } from '../../server/test/until.ts'

const checkout = join(import.meta.dirname, '..', '..', '..')

/** What a newcomer copies from the dashboard. */
interface Copied {
  readonly environment: string
  readonly file: string
  readonly code: string
  readonly start: string
}

/**
 * Does in a new folder what the dashboard says, with the packages of this checkout for those that a newcomer installs.
 *
 * @returns the address that the server prints
 */
export async function startFirstServer({ environment, file, code, start }: Copied): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-first-server-'))
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, '.env'), environment)
  writeFileSync(join(folder, file), code)
  const [program, ...options] = start.split(' ')
  assert.equal(program, 'node')
  const child = spawn(process.execPath, ['--conditions=keyrail-source', ...options], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: String(await freePort()) },
  })
  const exited = once(child, 'exit')
  after(async () => {
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const addressIn = () => /http:\/\/localhost:\d+/.exec(output)?.[0]
  await until(() => {
    assert.equal(child.exitCode, null, `the server ended: ${output}`)
    return addressIn() !== undefined
  }, 'the server prints its address')
  return addressIn() ?? ''
}
