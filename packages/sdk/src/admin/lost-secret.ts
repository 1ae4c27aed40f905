import { KeyrailError } from '../runtime/errors.ts'

/** Which member of an answer is a secret that the service returns once, and how to get another. */
const secrets: Readonly<Record<string, { member: string; remedy: (id: string) => string }>> = {
  api_key: { member: 'key', remedy: id => `rotate the key ${id} to get another` },
  secret_key: { member: 'key', remedy: id => `rotate the secret key ${id} to get another` },
  invitation: { member: 'token', remedy: id => `revoke the invitation ${id}, and make another` },
}

/**
 * A create or rotation whose answer was lost is repeated, and the service repeats its answer without the secret. Without an
 * error the caller would go on with no key; after a rotation without overlap the old one has ended too.
 *
 * @throws KeyrailError with the id of the resource that was made
 */
export function requireSecret(
  what: string,
  { object, id, ...members }: Readonly<Record<string, unknown>>,
): void {
  const secret = secrets[String(object)]
  if (secret === undefined || typeof members[secret.member] === 'string') return
  throw new KeyrailError(
    'secret_lost',
    `${what} was executed, but the answer with its secret was lost, and Keyrail keeps no copy: ${secret.remedy(String(id))}`,
    { retryable: false, resourceId: String(id) },
  )
}
