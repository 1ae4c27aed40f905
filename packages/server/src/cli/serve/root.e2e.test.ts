import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { isRoot } from '../../../test/embedded-service.ts'
import { ask, Installation, root, type Serving } from '../../../test/installation.ts'
import { until } from '../../../test/until.ts'
import { findServiceAccount } from '../../platform/db/embedded/account.ts'
import { capabilityBits } from '../../platform/host/process-status.ts'
import { findUnreadable } from '../../platform/host/reach.ts'

/** The kernel's status of a process, as names and values. */
function statusOf(pid: number): Record<string, string> {
  const lines = readFileSync(`/proc/${pid}/status`, 'utf8').trim().split('\n')
  return Object.fromEntries(lines.map(line => line.split(/:\s*/, 2) as [string, string]))
}
const none = '0000000000000000'
const capabilities = (pid: number) => {
  const { CapInh, CapPrm, CapEff, CapBnd, CapAmb, NoNewPrivs } = statusOf(pid)
  return { CapInh, CapPrm, CapEff, CapBnd, CapAmb, NoNewPrivs }
}
const nothing = { CapInh: none, CapPrm: none, CapEff: none, CapBnd: none, CapAmb: none, NoNewPrivs: '1' }

/** A copy of the checkout in a folder with this mode; packages are linked, code is copied. */
function copyCheckout(installation: Installation, mode: number): string {
  const home = join(installation.place.temp, `home-${mode.toString(8)}`)
  const copy = join(home, 'keyrail')
  mkdirSync(home)
  mkdirSync(copy)
  for (const name of ['package.json', 'packages/server', 'packages/contract'])
    cpSync(join(root, name), join(copy, name), { recursive: true })
  if (findUnreadable(account(), root.replace(/\/$/, '')) === undefined)
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  else execFileSync('cp', ['-a', join(root, 'node_modules'), copy])
  execFileSync('chmod', ['-R', 'go+rX', copy])
  chmodSync(home, mode)
  return copy
}

function account() {
  const found = findServiceAccount({ create: true })
  assert.ok(found)
  return found
}

const signUp = { email: 'somebody@example.com', password: 'a walk in the park' }

/** Asserts that it answers, writes rows and sends mail, whatever rights it has. */
async function works(service: Serving, installation: Installation, slug: string): Promise<void> {
  const { url } = service
  assert.equal((await ask(`${url}/readyz`))?.status, 200)
  const made = await ask(`${url}/v1/workspaces`, { token: installation.token, body: { name: 'Acme', slug } })
  assert.equal(made?.status, 201)
  // Loaded on the first request.
  assert.equal((await fetch(`${url}/docs`)).status, 200)
  assert.equal((await ask(`${url}/v1/auth/users`, { body: signUp }))?.status, 202)
  const mail = join(installation.dataDir, 'mail')
  await until(() => readdirSync(mail).some(name => name.endsWith('.eml')))
  // Another thread, which loads its own modules.
  const token = made?.body.secret_key.key
  assert.equal((await ask(`${url}/v1/audit_logs/chain`, { token }))?.status, 200)
}

if (isRoot) {
  describe('started by root, from a checkout that everybody can read', () => {
    let installation: Installation
    let main: string
    // A copy, because the checkout's own Node may be below a closed home.
    let node: string
    before(() => {
      installation = new Installation()
      const copy = copyCheckout(installation, 0o755)
      main = join(copy, 'packages/server/src/cli/main.ts')
      node = join(copy, 'node_modules/.bin/node')
    })
    after(() => installation.remove())
    // Started in a folder that the account cannot read, where libraries look for their settings.
    const serve = (env: Record<string, string> = {}) => {
      const closed = join(installation.place.temp, 'closed')
      mkdirSync(closed, { recursive: true, mode: 0o700 })
      const args = ['--conditions=keyrail-source', main, 'serve']
      return installation.listening(installation.run(node, args, env, closed))
    }

    test('the process that listens is not root, and has and can get no capability', async () => {
      const service = await serve()
      const pid = installation.listenerOf(service.url)
      const { uid, gid } = account()
      const { Uid, Gid, Groups } = statusOf(pid)
      assert.deepEqual(
        [Uid, Gid, Groups?.trim()],
        [`${uid}\t`.repeat(4).trim(), `${gid}\t`.repeat(4).trim(), ''],
      )
      assert.notEqual(uid, 0)
      assert.deepEqual(capabilities(pid), nothing)
      assert.match(service.output.out, /^Runs as: keyrail-service \(user id \d+\), without capabilities$/m)
      await works(service, installation, 'acme')
      const mail = statSync(join(installation.dataDir, 'mail'))
      assert.deepEqual([mail.uid, mail.mode & 0o777], [uid, 0o700])
      service.child.kill('SIGTERM')
      const { code, out } = await service.ended
      assert.equal(code, 0)
      assert.match(out, /"msg":"stopped"/)
      assert.doesNotMatch(out, /cut off/)
      assert.deepEqual(installation.postgresPids(), [])
    })

    test('the account owns neither Postgres’ files nor the secrets, and is not Postgres’ account', () => {
      const { uid } = account()
      assert.notEqual(statSync(installation.cluster).uid, uid)
      for (const name of ['bootstrap-token', 'postgres-password', 'postgres-service-password']) {
        const { uid: owner, mode } = statSync(join(installation.dataDir, name))
        assert.deepEqual([owner, mode & 0o777], [0, 0o600], name)
      }
    })

    test('a port below 1024 keeps only that capability', async () => {
      const first = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'))
      const service = await serve({ SERVICE_PORT: '983', SERVICE_HOST: '127.0.0.1' })
      const mask = first > 983 ? (1n << capabilityBits.net_bind_service).toString(16).padStart(16, '0') : none
      const pid = installation.listenerOf(service.url)
      assert.deepEqual(capabilities(pid), {
        CapInh: mask,
        CapPrm: mask,
        CapEff: mask,
        CapBnd: mask,
        CapAmb: mask,
        NoNewPrivs: '1',
      })
      service.child.kill('SIGTERM')
      assert.equal((await service.ended).code, 0)
    })

    test('killing the root process kills the one that listens, and Postgres stays', async () => {
      const first = await serve()
      const listener = installation.listenerOf(first.url)
      assert.notEqual(listener, installation.servicePid())
      const postmaster = installation.postmasterPid()
      process.kill(installation.servicePid(), 'SIGKILL')
      assert.equal((await first.ended).signal, 'SIGKILL')
      await until(async () => (await ask(`${first.url}/healthz`)) === null)
      const second = await serve()
      assert.equal(installation.postmasterPid(), postmaster)
      second.child.kill('SIGTERM')
      assert.equal((await second.ended).code, 0)
    })

    test('killing the listening process ends the service with code 1 and stops Postgres', async () => {
      const service = await serve()
      process.kill(installation.listenerOf(service.url), 'SIGKILL')
      const { code, err } = await service.ended
      assert.equal(code, 1)
      assert.match(err, /^Error: The listening process ended: SIGKILL\.$/m)
      assert.deepEqual(installation.postgresPids(), [])
    })

    test('stopping the listening process stops the whole service in order', async () => {
      const service = await serve()
      process.kill(installation.listenerOf(service.url), 'SIGTERM')
      const { code, out } = await service.ended
      assert.equal(code, 0)
      assert.match(out, /"msg":"stopped"/)
    })

    test('the doctor reports the account that it would run as', async () => {
      const { out } = await installation.run(node, ['--conditions=keyrail-source', main, 'doctor']).ended
      assert.match(out, /^ok +process +keyrail-service \(user id \d+\), without capabilities$/m)
    })
  })

  describe('started by root, from a checkout below a home that is closed', () => {
    let installation: Installation
    let main: string
    before(() => {
      installation = new Installation()
      main = join(copyCheckout(installation, 0o700), 'packages/server/src/cli/main.ts')
    })
    after(() => installation.remove())
    const serve = () =>
      installation.listening(
        installation.run(process.execPath, ['--conditions=keyrail-source', main, 'serve']),
      )

    test('the process that listens stays user id 0 without capabilities, and says why', async () => {
      const service = await serve()
      const pid = installation.listenerOf(service.url)
      assert.notEqual(pid, installation.servicePid())
      assert.equal(statusOf(pid).Uid, '0\t0\t0\t0')
      assert.deepEqual(capabilities(pid), nothing)
      const sentence = /^Runs as: user id 0, without capabilities: keyrail-service cannot read \/.+$/m
      assert.match(service.output.out, sentence)
      await works(service, installation, 'acme')
      service.child.kill('SIGTERM')
      assert.equal((await service.ended).code, 0)
      const { out } = await installation.run(process.execPath, [
        '--conditions=keyrail-source',
        main,
        'doctor',
      ]).ended
      assert.match(out, /^ok +process +user id 0, without capabilities: keyrail-service cannot read /m)
    })

    test('below another user’s closed home it keeps the one capability that lets root in', async () => {
      chownSync(join(installation.place.temp, 'home-700'), 65_534, 65_534)
      const service = await serve()
      const mask = (1n << capabilityBits.dac_read_search).toString(16).padStart(16, '0')
      const { CapEff, CapBnd, NoNewPrivs } = capabilities(installation.listenerOf(service.url))
      assert.deepEqual({ CapEff, CapBnd, NoNewPrivs }, { CapEff: mask, CapBnd: mask, NoNewPrivs: '1' })
      assert.match(service.output.out, /^Runs as: user id 0, with no capability but dac_read_search: /m)
      assert.equal((await fetch(`${service.url}/docs`)).status, 200)
      service.child.kill('SIGTERM')
      assert.equal((await service.ended).code, 0)
    })
  })
} else {
  test('started by an ordinary user, the starting process is the one that listens', async () => {
    const installation = new Installation()
    const service = await installation.serve()
    assert.equal(installation.listenerOf(service.url), installation.servicePid())
    assert.doesNotMatch(service.output.out, /Runs as/)
    service.child.kill('SIGTERM')
    await service.ended
    await installation.remove()
  })
}
