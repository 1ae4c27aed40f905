import { refused, type Valid } from '../verify/verdict.ts'
import type { Exchange, HttpAnswer } from './exchange.ts'
import { readScopes } from './gate-options.ts'
import { warnMisplaced } from './misplaced.ts'
import { refusedBehind } from './passage.ts'
import { toHttpRefusal } from './refusal.ts'

/**
 * What `requireScope` of every framework does.
 *
 * @returns judges a request: its refusal, if its key lacks a scope
 * @throws TypeError if no scope is given
 */
export function requireScopes(scopes: readonly string[]) {
  const required = readScopes(scopes)
  if (required.length === 0) throw new TypeError('requireScope takes at least one scope')
  const misplaced = warnMisplaced('requireScope')
  return (exchange: Exchange, apiKey: Valid | undefined): HttpAnswer | undefined => {
    const { isShadow } = exchange
    // In shadow a handler may see the key of the vendor's own check.
    const key = isShadow ? exchange.passage?.key : apiKey
    if (key === undefined) {
      if (isShadow) return undefined
      return exchange.isAnonymous ? keyless(exchange) : misplaced()
    }
    if (required.every(scope => key.scopes.includes(scope))) return undefined
    const refusal = refusedBehind(exchange, toHttpRefusal(refused.insufficient_scope, { scopes: required }))
    return isShadow ? undefined : refusal
  }
}

/** Refuses a request that its gate let pass without a key, where later middleware demands something of the key. */
export const keyless = (exchange: Exchange): HttpAnswer =>
  refusedBehind(exchange, toHttpRefusal(refused.missing_key, { header: [] }))
