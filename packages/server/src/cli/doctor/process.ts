import type { Config } from '../../config.ts'
import { planConfinement } from '../serve/confine.ts'
import type { Check } from './check.ts'

const name = 'process'

/** Checks which account a service started by this account would run as. */
export function checkProcess(config: Config): Check {
  const plan = planConfinement(config, { create: false })
  if (plan === null) return { name, status: 'ok', message: 'this account is not root' }
  const { sentence, isBare } = plan
  if (!isBare) return { name, status: 'ok', message: sentence }
  const todo = 'Install util-linux, which brings setpriv, or start the service as an ordinary user.'
  return { name, status: 'warning', message: sentence, todo }
}
