import type { Config } from '../config.ts'
import type { Check } from './doctor-check.ts'

/**
 * A public address with https, and no certificate of the service itself, means a proxy in front. Unless that one is trusted, all
 * callers seem to have its address, and one of them can use up the failed sign-ins of all.
 */
export function checkProxies({
  publicUrl,
  tlsCertFile,
  trustProxy,
}: Pick<Config, 'publicUrl' | 'tlsCertFile' | 'trustProxy'>): Check[] {
  if (new URL(publicUrl).protocol !== 'https:' || tlsCertFile !== null) return []
  const name = 'proxies'
  if (trustProxy > 0) return [{ name, status: 'ok', message: `${trustProxy} trusted` }]
  return [
    {
      name,
      status: 'warning',
      message: `none is trusted, and one serves ${publicUrl}: every caller counts as one network`,
      todo: 'Set SERVICE_TRUST_PROXY to the number of proxies that add to X-Forwarded-For.',
    },
  ]
}
