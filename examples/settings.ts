import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The settings of the examples, and what they print. The secret key has the preset `node`. */

const { KEYRAIL_URL, KEYRAIL_SECRET_KEY = '', KEYRAIL_PROJECT = '', PORT } = process.env

export const settings = {
  url: KEYRAIL_URL ?? 'http://127.0.0.1:8080',
  secretKey: KEYRAIL_SECRET_KEY,
  project: KEYRAIL_PROJECT,
}
export const port = Number(PORT ?? 3000)

export const sayWhere = (address: string | AddressInfo | null): void =>
  console.log(`The payments API listens on http://127.0.0.1:${(address as AddressInfo).port}`)

/** Opens the customer portal on `PORT`, until a signal ends it. */
export function listenAsPortal(portal: {
  listen(port: number, host: string, opened: () => void): Server
}): void {
  const server = portal.listen(port, '127.0.0.1', () => {
    const origin = `http://localhost:${(server.address() as AddressInfo).port}`
    console.log(`The portal listens on ${origin}; register this origin in the dashboard (Settings, Embed)`)
  })
  onStop(() => {
    server.close()
    server.closeAllConnections()
  })
}

/** Ctrl-C, or the signal that stops a container. */
export function onStop(stop: () => void | Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
}
