import { generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A code host that signs its reports, as GitHub does. */
export interface Codehost {
  readonly keyId: string
  readonly privateKey: KeyObject
  /** This key as an entry in the host's key document. */
  readonly listed: { key_identifier: string; key: string; is_current: boolean }
  /** Returns the headers that sign a body. */
  sign(body: string | Buffer): Record<string, string>
}

export const reportPath = '/v1/webhooks/codehost/secret_scanning'

export function makeCodehost(): Codehost {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const keyId = hash('sha256', key)
  return {
    keyId,
    privateKey,
    listed: { key_identifier: keyId, key, is_current: true },
    sign: body => signatureHeaders(keyId, sign('sha256', Buffer.from(body), privateKey)),
  }
}

export const signatureHeaders = (keyId: string, signature: Buffer) => ({
  'github-public-key-identifier': keyId,
  'github-public-key-signature': signature.toString('base64'),
})

/** The document in which a code host publishes its keys. */
export const documentOf = (...hosts: Pick<Codehost, 'listed'>[]): string =>
  JSON.stringify({ public_keys: hosts.map(({ listed }) => listed) })

/** The code host that all tests of this process share, and the file with its key document. */
export const codehost = makeCodehost()
const folder = mkdtempSync(join(tmpdir(), 'keyrail-codehost-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
export const codehostKeysFile = join(folder, 'keys.json')
writeFileSync(codehostKeysFile, documentOf(codehost))

export interface ReportedEntry {
  token?: unknown
  type?: unknown
  url?: unknown
  source?: unknown
}

/** A report as the code host sends it. */
export function signedReport(entries: readonly ReportedEntry[] | unknown, host: Codehost = codehost) {
  const body = JSON.stringify(entries)
  return { body, headers: { 'content-type': 'application/json', ...host.sign(body) } }
}
