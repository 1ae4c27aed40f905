import { lasting } from '../runtime/errors.ts'
import { refusals, type Valid } from './verdict.ts'

/**
 * Checks a verdict, because untyped code may pass a refused one, or nothing.
 *
 * @param asker the function that takes only verdicts of valid keys
 * @throws KeyrailError `misused`
 */
export function requireValid(asker: string, key: Valid): void {
  const { valid, code, keyId, tenantId, env } = (key ?? {}) as Partial<Valid>
  const isValid =
    valid === true &&
    typeof keyId === 'string' &&
    typeof tenantId === 'string' &&
    (env === 'live' || env === 'test')
  if (isValid) return
  const what =
    typeof code === 'string' && Object.hasOwn(refusals, code) ? `a key refused as ${code}` : 'no verdict'
  throw lasting('misused', `${asker} was given ${what}: call it only if verdict.valid is true`)
}
