import type { Config } from '../../config.ts'
import { isLoopback } from '../../platform/network/loopback.ts'
import type { Check } from './check.ts'

/** What a proxy needs to see two failed probes, with a second between them, and to send elsewhere. */
const usualDelayS = 10

/** Passwords, sessions and keys can be read on the way of plain HTTP. */
export function checkPublicUrl({ publicUrl }: Pick<Config, 'publicUrl'>): Check[] {
  const { protocol, hostname } = new URL(publicUrl)
  if (protocol === 'https:' || isLoopback(hostname)) return []
  return [
    {
      name: 'public URL',
      status: 'warning',
      message: `${publicUrl} is plain HTTP: passwords, sessions and keys can be read on the way`,
      todo: 'Put a proxy with TLS in front, or set SERVICE_TLS_CERT_FILE, and let SERVICE_PUBLIC_URL begin with https.',
    },
  ]
}

/** The metrics port is on the address of the service, and asks for no credential. */
export function checkMetrics({ host, metricsPort }: Pick<Config, 'host' | 'metricsPort'>): Check[] {
  if (metricsPort === null) return []
  const name = 'metrics'
  if (isLoopback(host))
    return [{ name, status: 'ok', message: `on ${host}, which only this machine reaches` }]
  return [
    {
      name,
      status: 'warning',
      message: `port ${metricsPort} of ${host} asks for no credential`,
      todo: 'Let only Prometheus reach that port: by a firewall, a network policy, or a port that is not published.',
    },
  ]
}

/**
 * Only with an outside database is there another process that a proxy could send to. One that stops without a delay closes
 * connections on which a proxy still sends.
 */
export function checkDrain({
  databaseUrl,
  publicUrl,
  drainDelayS,
}: Pick<Config, 'databaseUrl' | 'publicUrl' | 'drainDelayS'>): Check[] {
  if (databaseUrl === null || isLoopback(new URL(publicUrl).hostname)) return []
  const name = 'drain'
  if (drainDelayS > 0)
    return [{ name, status: 'ok', message: `a process that stops serves on for ${drainDelayS} s` }]
  return [
    {
      name,
      status: 'warning',
      message: 'a process that stops closes at once, while a proxy still sends requests to it',
      todo: `With several processes, set SERVICE_DRAIN_DELAY_S=${usualDelayS}, and give a process that long and 35 s more to stop.`,
    },
  ]
}
