import type { Config } from '../../config.ts'
import { coresOf } from '../../platform/host/cores.ts'
import { planConfinement } from '../serve/confine.ts'
import type { Check } from './check.ts'

const name = 'process'

/** Several processes that share the port, and the cores that they have. One process needs no check. */
export function checkProcesses(
  { processes, isProcessesAuto }: Pick<Config, 'processes' | 'isProcessesAuto'>,
  cores: number = coresOf(),
): Check[] {
  const name = 'processes'
  const have = `${cores} ${cores === 1 ? 'core' : 'cores'}`
  if (isProcessesAuto) {
    const message = processes === 1 ? `one, for ${have}` : `up to ${processes} share the port, for ${have}`
    return [{ name, status: 'ok', message }]
  }
  if (processes === 1) return []
  const message = `${processes} share the port, and have ${have}`
  if (processes <= cores) return [{ name, status: 'ok', message }]
  const todo =
    'Set SERVICE_PROCESSES=auto: more processes than cores cost memory and connections, and gain nothing.'
  return [{ name, status: 'warning', message, todo }]
}

/** Checks which account a service started by this account would run as. */
export function checkProcess(config: Config): Check {
  const plan = planConfinement(config, { create: false })
  if (plan === null) return { name, status: 'ok', message: 'this account is not root' }
  const { sentence, isBare } = plan
  if (!isBare) return { name, status: 'ok', message: sentence }
  const todo = 'Install util-linux, which brings setpriv, or start the service as an ordinary user.'
  return { name, status: 'warning', message: sentence, todo }
}
