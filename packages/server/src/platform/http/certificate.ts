import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { Logger } from '../observe/log.ts'

/** Two PEM files: the certificate followed by those of its issuers, and its private key. */
export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** A certificate and its key, checked against each other. */
export interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
  /** The names of hosts in the certificate, such as `DNS:keyrail.example.com`. */
  readonly names: string
  readonly notAfter: Date
  /** Differs when either file differs. */
  readonly digest: string
}

/** The files cannot serve TLS. The message says why, and quotes no secret. */
class BadCertificate extends Error {
  override name = 'BadCertificate'
}

/** Refuses older versions, and suites without forward secrecy or authenticated encryption. */
export const tlsOptions = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE+AESGCM',
    'ECDHE+CHACHA20',
  ].join(':'),
} as const

/** How often the files are looked at. A change is taken at the second look, so that a file being written is complete. */
const lookEveryMs = 1_000

/** @throws {BadCertificate} if a file cannot be read or understood, or the key does not belong to the certificate. */
export function readCertificate({ certFile, keyFile }: CertificateFiles): Certificate {
  const cert = contents(certFile)
  const key = contents(keyFile)
  const isNoCertificate = `${certFile} is not a complete certificate in PEM.`
  const leaf = parsed(isNoCertificate, () => new X509Certificate(cert))
  const privateKey = parsed(`${keyFile} is not a complete private key in PEM without a passphrase.`, () =>
    createPrivateKey(key),
  )
  if (!leaf.checkPrivateKey(privateKey))
    throw new BadCertificate(`The key of ${keyFile} does not belong to the certificate of ${certFile}.`)
  // Reads the whole chain, of which the leaf is the first.
  parsed(isNoCertificate, () => createSecureContext({ cert, key, ...tlsOptions }))
  return {
    cert,
    key,
    names: leaf.subjectAltName ?? leaf.subject,
    notAfter: new Date(leaf.validTo),
    digest: createHash('sha256').update(cert).update('\0').update(key).digest('hex'),
  }
}

/**
 * Takes a new certificate when the files have one, also through symbolic links that are replaced. Files that cannot be used
 * change nothing, and are logged once.
 *
 * @returns a function that stops it.
 */
export function followCertificate(
  files: CertificateFiles,
  first: Certificate,
  take: (next: Certificate) => void,
  log: Pick<Logger, 'info' | 'error'>,
): () => void {
  let current = first
  let seen = ''
  let judged = ''
  let isOver = false
  let timer: NodeJS.Timeout
  const judge = () => {
    try {
      const next = readCertificate(files)
      if (next.digest === current.digest) return
      take(next)
      current = next
      log.info({ names: next.names, not_after: next.notAfter }, 'certificate replaced')
    } catch (error) {
      log.error(
        { err: error, not_after: current.notAfter },
        'the new certificate cannot be used; the one before stays',
      )
    }
  }
  const look = async () => {
    const stamp = `${await stampOf(files.certFile)} ${await stampOf(files.keyFile)}`
    if (isOver) return
    if (stamp === seen && stamp !== judged) {
      judged = stamp
      judge()
    }
    seen = stamp
    lookLater()
  }
  const lookLater = () => {
    timer = setTimeout(look, lookEveryMs).unref()
  }
  lookLater()
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}

/** Differs after every change of the file, or of the links that lead to it. */
async function stampOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}

function contents(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new BadCertificate(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}

function parsed<T>(fault: string, parse: () => T): T {
  try {
    return parse()
  } catch (cause) {
    throw new BadCertificate(fault, { cause })
  }
}
