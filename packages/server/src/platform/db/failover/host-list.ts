/** One of several servers, of which one is the primary. */
export interface Host {
  readonly host: string
  readonly port: number
}

export const nameOf = ({ host, port }: Host): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

const inList = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?![^/?#]*@)([^/?#]*,[^/?#]*)/
const oneHost = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i

/**
 * The hosts of an address that lists several, and the same address with only the first host; null: the address lists one host.
 */
export function splitHosts(url: string): { hosts: Host[]; first: string } | null {
  const [all = '', before = '', list = ''] = inList.exec(url) ?? []
  if (all === '') return null
  const names = list.split(',')
  const hosts = names.flatMap(name => {
    const [, v6, plain, port = '5432'] = oneHost.exec(name) ?? []
    const host = v6 ?? plain
    return host === undefined || Number(port) > 65_535 ? [] : [{ host, port: Number(port) }]
  })
  // If one host is malformed, the list is empty.
  return {
    hosts: hosts.length === names.length ? hosts : [],
    first: url.replace(all, () => `${before}${names[0]}`),
  }
}
