import assert from 'node:assert/strict'
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { makeCertificate } from '../../../test/certificate.ts'
import { Installation, looksLikeStack } from '../../../test/installation.ts'
import { until } from '../../../test/until.ts'

const { files } = makeCertificate()
// Started as root, the process that listens has another account.
chmodSync(dirname(files.cert), 0o755)

describe('keyrail serve with a certificate', () => {
  let installation: Installation
  let env: Record<string, string>
  before(() => {
    installation = new Installation()
    env = {
      SERVICE_TLS_CERT_FILE: files.cert,
      SERVICE_TLS_KEY_FILE: files.key,
      SERVICE_PUBLIC_URL: 'https://localhost:8443',
    }
  })
  after(() => installation.remove())

  const curl = async (url: string, ca: string, ...args: string[]) => {
    const { port } = new URL(url)
    const named = ['--connect-to', `localhost:8443:127.0.0.1:${port}`, '--cacert', ca]
    return await installation.run('curl', ['-sS', ...named, ...args]).ended
  }

  test('the printed address answers over TLS, also with a certificate that replaces the first', async () => {
    const service = await installation.serve(env)
    assert.match(service.url, /^https:\/\/127\.0\.0\.1:\d+$/)
    assert.ok(service.output.out.includes('Dashboard: https://localhost:8443/app'), service.output.out)
    const ready = await curl(service.url, files.cert, '-i', 'https://localhost:8443/readyz')
    assert.match(ready.out, /^HTTP\/1\.1 200 /, ready.err)
    // A browser would demand TLS from every program on localhost.
    assert.doesNotMatch(ready.out, /strict-transport-security/i)
    const next = makeCertificate()
    const trust = next.files.cert
    copyFileSync(next.files.cert, files.cert)
    copyFileSync(next.files.key, files.key)
    await until(async () => {
      const { code } = await curl(service.url, trust, '-o', '/dev/null', 'https://localhost:8443/readyz')
      return code === 0
    })
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
  })

  test('a key of another certificate ends the start with the reason, and stops Postgres', async () => {
    writeFileSync(files.key, makeCertificate().key)
    const { code, out, err } = await installation.start(['serve'], env).ended
    assert.equal(code, 1)
    assert.ok(
      err.includes(`The key of ${files.key} does not belong to the certificate of ${files.cert}.`),
      err,
    )
    assert.ok(!looksLikeStack(err) && !(out + err).includes('PRIVATE KEY'), out + err)
    assert.deepEqual(installation.postgresPids(), [])
  })
})
