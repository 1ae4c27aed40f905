import { isIP } from 'node:net'
import type { Config } from '../config.ts'
import type { Check } from './doctor-check.ts'

const name = 'sign-up'

/** Who may make an account. Anybody who reaches the service, unless a setting says otherwise. */
export function checkSignUp({ host, signUp }: Pick<Config, 'host' | 'signUp'>): Check {
  if (signUp === 'invited') return { name, status: 'ok', message: 'for addresses with a pending invitation' }
  if (signUp === 'closed') return { name, status: 'ok', message: 'closed: nobody can make an account' }
  if (isLoopback(host)) return { name, status: 'ok', message: `open; only this machine reaches ${host}` }
  return {
    name,
    status: 'warning',
    message: `open: whoever reaches ${host} can make an account and workspaces`,
    todo: 'Set SERVICE_SIGN_UP to invited, or to closed, unless this is a service for the public.',
  }
}

const isLoopback = (host: string) =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
