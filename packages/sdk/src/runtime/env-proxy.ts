import { ofNode } from './of-node.ts'

/** A proxy that the environment names. */
export interface EnvProxy {
  /** The variable, such as `HTTPS_PROXY`. */
  name: string
  /** Its value, which may hold a password. */
  address: string
}

/** The proxy of the environment for a service. Undefined if there is none, and for this machine or a host in `NO_PROXY`. */
export function envProxy({ hostname, protocol, port }: URL): EnvProxy | undefined {
  if (isLocal.test(hostname)) return undefined
  return ofNode(({ env }) => {
    const read = (name: string) => [name.toLowerCase(), name].find(one => env[one])
    const name = (protocol === 'https:' ? read('HTTPS_PROXY') : undefined) ?? read('HTTP_PROXY')
    if (name === undefined) return undefined
    const asked = port || (protocol === 'https:' ? '443' : '80')
    return isExempt(hostname, asked, env[read('NO_PROXY') ?? ''] ?? '')
      ? undefined
      : { name, address: env[name] as string }
  })
}

const isLocal = /^(?:localhost|[\w.-]+\.localhost|127(?:\.\d+){3}|\[::1\])$/

/** Whether a list such as `internal.example, .corp, other.example:8443` names the host or a domain above it. */
const isExempt = (hostname: string, port: string, list: string): boolean =>
  list.split(/[\s,]+/).some(entry => {
    const [, host = '', only = port] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
    const name = host.replace(/^\*?\./, '')
    return (
      only === port && name !== '' && (name === '*' || name === hostname || hostname.endsWith(`.${name}`))
    )
  })
