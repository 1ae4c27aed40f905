import type { Config } from '../../config.ts'
import { readCertificate } from '../../platform/http/certificate.ts'
import type { Check } from './check.ts'

/** Authorities renew certificates of 90 days with 30 left; later than this, the renewal has failed more than once. */
const renewWithinDays = 21
const dayMs = 86_400_000

/** Checks the certificate of the service's own TLS, and how long it is valid. */
export function checkCertificate(
  { tlsCertFile, tlsKeyFile }: Pick<Config, 'tlsCertFile' | 'tlsKeyFile'>,
  now: number,
): Check[] {
  const name = 'certificate'
  if (tlsCertFile === null || tlsKeyFile === null) return []
  try {
    const { names, notAfter } = readCertificate({ certFile: tlsCertFile, keyFile: tlsKeyFile })
    const daysLeft = Math.floor((notAfter.getTime() - now) / dayMs)
    const until = notAfter.toISOString()
    const todo = 'Renew it and write both files: the service takes them without a restart.'
    if (daysLeft < 0) return [{ name, status: 'fault', message: `${names} expired at ${until}`, todo }]
    const message = `${names}, valid until ${until}`
    if (daysLeft >= renewWithinDays) return [{ name, status: 'ok', message }]
    return [{ name, status: 'warning', message: `${message}: ${daysLeft} days more`, todo }]
  } catch (error) {
    return [{ name, status: 'fault', message: (error as Error).message }]
  }
}
