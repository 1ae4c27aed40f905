import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

/** A self-signed certificate for a host, and the files that hold it. */
export function makeCertificate(host = 'localhost', days = 2) {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-certificate-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const files = { key: join(folder, 'key'), cert: join(folder, 'cert') }
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
  const form = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', `${days}`]
  const out = ['-keyout', files.key, '-out', files.cert]
  execFileSync('openssl', ['req', ...form, ...names, ...out], { stdio: 'ignore' })
  return { key: readFileSync(files.key, 'utf8'), cert: readFileSync(files.cert, 'utf8'), files }
}
