import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { ask, Installation } from '../packages/server/test/installation.ts'
import { until } from '../packages/server/test/until.ts'
import { runMainJob } from './demo/main-job.ts'
import { Surprise } from './demo/talk.ts'

/** A whole credential, as opposed to its display prefix. */
const wholeSecret = /[a-z0-9]+_(?:(?:live|test)_)?[0-9A-Za-z]{38}|[0-9a-f]{12}\.[\w-]{43}/
const where = /Keyrail runs at (\S+), with its own Postgres in (\S+) /

describe('npm run demo', () => {
  const installation = new Installation()
  after(() => installation.remove())

  test('does the main job over HTTP, verifies the chain, shows no secret and cleans up', async () => {
    const { code, out, err } = await installation.run('npm', ['run', 'demo']).ended
    assert.equal(code, 0, out + err)
    for (const [index, step] of [
      'POST /v1/auth/users  →  202',
      'POST /v1/auth/email_verifications/consume  →  200',
      'POST /v1/auth/sessions  →  201',
      'POST /v1/workspaces  →  201',
      'POST /v1/invites  →  201',
      'POST /v1/auth/users  →  202',
      'POST /v1/auth/sessions  →  201',
      'POST /v1/auth/invites/accept  →  200',
      'POST /v1/projects  →  201',
      'POST /v1/tenants  →  201',
      'POST /v1/keys  →  201',
      'GET /v1/keys/.+  →  200',
      'POST /v1/keys/.+/rotate  →  200',
      'POST /v1/keys/.+/revoke  →  200',
      'POST /v1/secret_keys  →  201',
      'POST /v1/keys  →  403',
      'GET /payments  →  200',
      'GET /payments  →  401',
      'GET /payments  →  401',
      'POST /v1/keys/.+/revoke\\?wait=true  →  200',
      'GET /payments  →  401',
      '',
      'GET /v1/audit_logs  →  200',
      'GET /v1/audit_logs/chain  →  200',
    ].entries()) {
      const asked = step === '' ? '' : `\n   ${step}  \\d+\\.\\d ms`
      assert.match(out, new RegExp(`^${index + 1}\\. .+${asked}$`, 'm'))
    }
    assert.match(out, /^ +propagation\.acknowledged +true\n +propagation\.nodes +1$/m)
    assert.match(out, /^ +verify, the mean of 100,000 +\d+\.\d\d µs$/m)
    assert.match(out, /^ +revoke → refused, held poll +\d+ ms\n +revoke → refused, poll of 5 s +\d+ ms$/m)
    assert.match(
      out,
      /The audit chain is verified: 16 rows.*\nTo use it .*: npm run demo -- --look\nDone in .* data deleted\.\n$/,
    )
    assert.match(out, /^ +secret_key\.key +krsk_live_\w{4}…$/m)
    assert.doesNotMatch(out + err, wholeSecret)
    const [, url = '', dataDir = ''] = where.exec(out) ?? []
    assert.equal(await ask(`${url}/healthz`), null)
    assert.equal(existsSync(dataDir), false)
  })

  test('cleans up after Ctrl-C too', async () => {
    const demo = installation.run('npm', ['run', 'demo'])
    await until(() => where.test(demo.output.out))
    const [, url = '', dataDir = ''] = where.exec(demo.output.out) ?? []
    process.kill(-(demo.child.pid ?? 0), 'SIGINT')
    await demo.ended
    assert.equal(await ask(`${url}/healthz`), null)
    assert.equal(existsSync(dataDir), false)
  })

  test('--look opens the customer portal until Ctrl-C, which leaves nothing behind', async () => {
    const demo = installation.run('npm', ['run', 'demo', '--', '--look'])
    const open = /^Customer portal +(http:[^\s,]+)(?:.*\n)+Ctrl-C ends both\.$/m
    let isOver = false
    demo.ended.then(() => {
      isOver = true
    })
    // The service builds the widget meanwhile, unless its build is current.
    await until(() => isOver || open.test(demo.output.out), 'the portal is open', 30_000)
    assert.equal(isOver, false, demo.output.out + demo.output.err)
    const [, portal = ''] = open.exec(demo.output.out) ?? []
    const [, url = '', dataDir = ''] = where.exec(demo.output.out) ?? []
    assert.match(await (await fetch(portal)).text(), /Sign in to Acme Payments/)
    const body = new URLSearchParams({ email: 'ann@globex.example' })
    const signedIn = await fetch(`${portal}/sign-in`, { method: 'POST', body, redirect: 'manual' })
    const headers = { cookie: String(signedIn.headers.get('set-cookie')?.split(';')[0]) }
    const asked = await fetch(`${portal}/keyrail-token`, { method: 'POST', headers })
    const { token } = (await asked.json()) as { token: string }
    const session = await fetch(`${url}/v1/embed/session`, {
      headers: { authorization: `Bearer ${token}`, origin: portal },
    })
    assert.equal(session.status, 200)
    assert.equal((await fetch(`${url}/embed/v1/keyrail-keys.js`)).status, 200)
    process.kill(-(demo.child.pid ?? 0), 'SIGINT')
    const { code, out, err } = await demo.ended
    assert.match(out, /Done in .* data deleted\.\n$/, err)
    assert.equal(code, 0)
    assert.doesNotMatch(out + err, wholeSecret)
    for (const address of [`${url}/healthz`, portal]) assert.equal(await ask(address), null)
    assert.equal(existsSync(dataDir), false)
  })

  test('an unexpected answer fails the demo', async () => {
    const service = await installation.serve()
    const mailFolder = join(installation.dataDir, 'mail')
    await runMainJob(service.url, mailFolder)
    await assert.rejects(
      runMainJob(service.url, mailFolder),
      (error: Error) => error instanceof Surprise && error.message.includes('invalid_token'),
    )
    service.child.kill('SIGTERM')
    await service.ended
  })

  test('a demo that cannot run ends with exit code 1 and the reason', async () => {
    // Without npm, which would create that folder.
    const demo = installation.run(process.execPath, ['bin/node.mjs', 'examples/demo.ts'], {
      TMPDIR: '/no/such/folder',
    })
    const { code, out, err } = await demo.ended
    assert.equal(code, 1, out + err)
    assert.match(out, /The demo stopped: .*ENOENT/)
  })
})
