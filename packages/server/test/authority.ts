import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A certificate authority of a company, which no system trusts. */
export interface Authority {
  /** Its certificate. */
  readonly file: string
  /** A certificate for a name. @param owner a file of the account that reads the key. */
  issue(host: string, owner: string): { cert: string; key: string }
  remove(): void
}

const ecKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

export function makeAuthority(name: string): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-authority-'))
  // The account of Postgres passes through.
  chmodSync(folder, 0o755)
  const file = join(folder, 'ca.pem')
  const key = join(folder, 'ca.key')
  openssl('req', '-x509', ...ecKey, '-days', '2', '-subj', `/CN=${name}`, '-keyout', key, '-out', file)
  chmodSync(file, 0o644)
  return {
    file,
    issue(host, owner) {
      const made = { cert: join(folder, `${host}.pem`), key: join(folder, `${host}.key`) }
      const [request, names] = [join(folder, 'request'), join(folder, 'names')]
      openssl('req', ...ecKey, '-subj', `/CN=${host}`, '-keyout', made.key, '-out', request)
      writeFileSync(names, `subjectAltName=DNS:${host}\n`)
      const by = ['-CA', file, '-CAkey', key, '-CAcreateserial', '-days', '2']
      openssl('x509', '-req', '-in', request, ...by, '-extfile', names, '-out', made.cert)
      chmodSync(made.cert, 0o644)
      chmodSync(made.key, 0o600)
      const { uid, gid } = statSync(owner)
      chownSync(made.key, uid, gid)
      return made
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
