import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { ask, Installation, until } from '../packages/server/src/cli/test-keyrail.ts'
import { runMainJob } from './demo/main-job.ts'
import { Surprise } from './demo/talk.ts'

/** A whole credential, as opposed to the part of it that may be shown. */
const wholeSecret = /[a-z0-9]+_(?:(?:live|test)_)?[0-9A-Za-z]{38}|[0-9a-f]{12}\.[\w-]{43}/
const where = /Keyrail runs at (\S+), with a Postgres of its own in (\S+) /

describe('npm run demo', () => {
  const installation = new Installation()
  after(() => installation.remove())

  test('does the main job over HTTP, ends with the chain verified, shows no secret and leaves nothing', async () => {
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
    assert.match(out, /The audit chain is verified: 16 rows.*\nDone in .* data removed\.\n$/)
    assert.match(out, /^ +secret_key\.key +krsk_live_\w{4}…$/m)
    assert.doesNotMatch(out + err, wholeSecret)
    const [, url = '', dataDir = ''] = where.exec(out) ?? []
    assert.equal(await ask(`${url}/healthz`), null)
    assert.equal(existsSync(dataDir), false)
  })

  test('broken off with Ctrl-C, it leaves nothing either', async () => {
    const demo = installation.run('npm', ['run', 'demo'])
    await until(() => where.test(demo.output.out))
    const [, url = '', dataDir = ''] = where.exec(demo.output.out) ?? []
    process.kill(-(demo.child.pid ?? 0), 'SIGINT')
    await demo.ended
    assert.equal(await ask(`${url}/healthz`), null)
    assert.equal(existsSync(dataDir), false)
  })

  test('an answer that is not the promised one is a surprise', async () => {
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

  test('a demo that cannot be done ends with exit code 1 and the reason', async () => {
    // Without npm, which would make that folder.
    const demo = installation.run(process.execPath, ['bin/node.mjs', 'examples/demo.ts'], {
      TMPDIR: '/no/such/folder',
    })
    const { code, out, err } = await demo.ended
    assert.equal(code, 1, out + err)
    assert.match(out, /The demo ends here: .*ENOENT/)
  })
})
