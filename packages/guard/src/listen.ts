import { chmodSync, lstatSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { connect, type ListenOptions } from 'node:net'

/** Where the guard answers. */
export type Address =
  | { readonly kind: 'port'; readonly host: string; readonly port: number; readonly isLoopback: boolean }
  | { readonly kind: 'socket'; readonly path: string }

/** @returns undefined if the text is neither `HOST:PORT` nor `unix:/PATH` */
export function readAddress(text: string): Address | undefined {
  const [, path] = /^unix:(\/.+)$/.exec(text) ?? []
  // The kernel takes 107 bytes.
  if (path !== undefined) return Buffer.byteLength(path) > 107 ? undefined : { kind: 'socket', path }
  const [, bracketed, plain, port = ''] = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === undefined || Number(port) > 65_535) return undefined
  return {
    kind: 'port',
    host,
    port: Number(port),
    isLoopback: /^(?:127(?:\.\d+){3}|::1|localhost)$/.test(host),
  }
}

/** Owner and group: the proxy's account joins the group. */
const SOCKET_MODE = 0o660

/** Listens, and resolves with the address in words. A socket that no process serves any more is replaced. */
export async function listen(server: Server, address: Address): Promise<string> {
  if (address.kind === 'socket') {
    await removeStale(address.path)
    await opened(server, { path: address.path })
    chmodSync(address.path, SOCKET_MODE)
    return `unix:${address.path}`
  }
  await opened(server, { host: address.host, port: address.port, backlog: 1_024 })
  const bound = server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port
  return `http://${address.host.includes(':') ? `[${address.host}]` : address.host}:${port}`
}

const opened = (server: Server, options: ListenOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(options, () => {
      server.off('error', reject)
      resolve()
    })
  })

async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isSocket()) throw new Error(`${path} is no socket`)
  if (await isServed(path)) throw new Error(`another process answers at ${path}`)
  rmSync(path, { force: true })
}

const isServed = (path: string): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(path)
    const end = (served: boolean) => {
      socket.destroy()
      resolve(served)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
