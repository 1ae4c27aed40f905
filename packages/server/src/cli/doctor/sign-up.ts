import type { Config } from '../../config.ts'
import { isLoopback } from '../../platform/network/loopback.ts'
import type { Check } from './check.ts'

const name = 'sign-up'

/**
 * Checks who may make an account. Unless a setting restricts it, that is everyone who reaches the service: at
 * its listening address, or through a proxy at its public address.
 */
export function checkSignUp({
  host,
  publicUrl,
  signUp,
}: Pick<Config, 'host' | 'publicUrl' | 'signUp'>): Check {
  if (signUp === 'invited') return { name, status: 'ok', message: 'for addresses with a pending invitation' }
  if (signUp === 'closed') return { name, status: 'ok', message: 'closed: no one can make an account' }
  const publicHost = new URL(publicUrl).hostname
  const reached = [host, publicHost].find(each => !isLoopback(each))
  if (reached === undefined) return { name, status: 'ok', message: `open; only this machine reaches ${host}` }
  return {
    name,
    status: 'warning',
    message: `open: everyone who reaches ${reached} can make an account and workspaces`,
    todo: 'Set SERVICE_SIGN_UP to invited, or to closed, unless this service is for the public.',
  }
}
