import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { makeCertificate } from '../../../test/certificate.ts'
import { until } from '../../../test/until.ts'
import { type Certificate, followCertificate, readCertificate } from './certificate.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyrail-tls-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
const [one, other] = [makeCertificate(), makeCertificate('keyrail.example.com')]

function write(cert: string, key: string): void {
  writeFileSync(files.certFile, cert)
  writeFileSync(files.keyFile, key)
}

test('a pair that cannot be used is refused with the file and the reason', () => {
  const locked = join(folder, 'locked')
  execFileSync('openssl', [
    'pkcs8',
    '-topk8',
    '-in',
    one.files.key,
    '-passout',
    'pass:secret',
    '-out',
    locked,
  ])
  const half = (text: string) => text.slice(0, text.length / 2)
  for (const [cert, key, message] of [
    ['', one.key, /tls\.crt is not a complete certificate in PEM\.$/],
    [half(one.cert), one.key, /tls\.crt is not a complete certificate in PEM\.$/],
    // The second certificate of a chain.
    [one.cert + half(other.cert), one.key, /tls\.crt is not a complete certificate in PEM\.$/],
    [one.cert, half(one.key), /tls\.key is not a complete private key in PEM without a passphrase\.$/],
    [one.cert, readFileSync(locked, 'utf8'), /tls\.key is not a complete private key in PEM without a/],
    [one.cert, other.key, /The key of \S+tls\.key does not belong to the certificate of \S+tls\.crt\.$/],
  ] as const) {
    write(cert, key)
    assert.throws(() => readCertificate(files), { name: 'BadCertificate', message })
  }
  rmSync(files.keyFile)
  assert.throws(() => readCertificate(files), { message: /tls\.key cannot be read \(ENOENT\)\.$/ })
  write(one.cert + other.cert, one.key)
  assert.match(readCertificate(files).names, /localhost/)
})

/** Follows the files from the certificate in them. */
function follow() {
  const taken: Certificate[] = []
  const logged: string[] = []
  const log = {
    info: (_fields: object, text: string) => logged.push(text),
    error: ({ err }: { err: Error }) => logged.push(err.message),
  }
  const stop = followCertificate(files, readCertificate(files), next => taken.push(next), log as never)
  return { taken, logged, stop }
}

test('a pair that is written half changes nothing and is logged once, and its end is taken', async () => {
  write(one.cert, one.key)
  const { taken, logged, stop } = follow()
  writeFileSync(files.certFile, other.cert)
  await until(() => logged.length === 1)
  assert.match(logged[0] ?? '', /does not belong to the certificate/)
  assert.equal(taken.length, 0)
  writeFileSync(files.keyFile, other.key)
  await until(() => taken.length === 1)
  assert.deepEqual([taken[0]?.names, logged.length], ['DNS:keyrail.example.com', 2])
  // The same contents again are no new certificate.
  write(other.cert, other.key)
  writeFileSync(files.keyFile, 'nothing')
  await until(() => logged.length === 3)
  assert.equal(taken.length, 1)
  stop()
})

test('a link that is replaced is followed, as container engines mount secrets', async () => {
  for (const name of ['tls.crt', 'tls.key']) rmSync(join(folder, name))
  for (const [version, { cert, key }] of [one, other].entries()) {
    const place = join(folder, `version-${version}`)
    execFileSync('mkdir', [place])
    writeFileSync(join(place, 'tls.crt'), cert)
    writeFileSync(join(place, 'tls.key'), key)
  }
  symlinkSync('version-0', join(folder, '..data'))
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder, name))
  const { taken, logged, stop } = follow()
  symlinkSync('version-1', join(folder, '..new'))
  renameSync(join(folder, '..new'), join(folder, '..data'))
  await until(() => taken.length === 1)
  assert.deepEqual([taken[0]?.names, logged], ['DNS:keyrail.example.com', ['certificate replaced']])
  stop()
})
