import { isUuid } from '../http/validate.ts'
import { Refusal } from '../refusal.ts'
import { tokenDigest } from './token.ts'

const secretBytes = 32

/**
 * The token of a mailed link: `<scope>.<secret>`. The scope says where to look the token up and proves nothing; the SHA-256 of
 * the whole token is compared.
 * @param scopeId the id of the person, or of the workspace that invites.
 */
export function drawMailedToken(
  scopeId: string,
  randomBytes: (size: number) => Buffer,
): { token: string; digest: Buffer } {
  const token = `${scopeId}.${randomBytes(secretBytes).toString('base64url')}`
  return { token, digest: tokenDigest(token) }
}

/**
 * Returns where to look a token up, and the digest to compare.
 * @throws {Refusal} `invalid_token` if the token names no scope.
 */
export function readMailedToken(token: string): { scopeId: string; digest: Buffer } {
  const [scopeId = ''] = token.split('.')
  if (!isUuid(scopeId)) throw new Refusal('invalid_token')
  return { scopeId: scopeId.toLowerCase(), digest: tokenDigest(token) }
}
