import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeCertificate } from '../../../test/certificate.ts'
import { examine } from '../../../test/examine.ts'
import { Installation } from '../../../test/installation.ts'
import { checkCertificate } from './certificate.ts'

const dayMs = 86_400_000
const { files } = makeCertificate('localhost', 90)
const filesOf = ({ cert, key }: typeof files) => ({ tlsCertFile: cert, tlsKeyFile: key })

test('a certificate is a warning for its last 21 days, and a fault when it has expired', () => {
  const made = Date.now()
  const seen = (days: number) => checkCertificate(filesOf(files), made + days * dayMs)[0]
  assert.equal(seen(0)?.status, 'ok')
  assert.match(seen(0)?.message ?? '', /^DNS:localhost, valid until 20/)
  assert.equal(seen(68)?.status, 'ok')
  assert.equal(seen(70)?.status, 'warning')
  assert.match(seen(70)?.message ?? '', /: (19|20) days more$/)
  assert.equal(seen(91)?.status, 'fault')
  assert.match(seen(91)?.message ?? '', /^DNS:localhost expired at /)
})

test('a key of another certificate is a fault, and without TLS there is no finding', () => {
  const other = makeCertificate()
  const [wrong] = checkCertificate({ tlsCertFile: files.cert, tlsKeyFile: other.files.key }, Date.now())
  assert.equal(wrong?.status, 'fault')
  assert.match(wrong?.message ?? '', /does not belong to the certificate/)
  assert.deepEqual(checkCertificate({ tlsCertFile: null, tlsKeyFile: null }, 0), [])
})

test('keyrail doctor reports it', async () => {
  const soon = makeCertificate()
  const env = { SERVICE_TLS_CERT_FILE: soon.files.cert, SERVICE_TLS_KEY_FILE: soon.files.key }
  const installation = new Installation({ SERVICE_DASHBOARD: 'off' })
  assert.equal((await examine(installation, env)).found('certificate')?.status, 'warning')
  await installation.remove()
})
