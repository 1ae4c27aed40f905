import type { AddressInfo } from 'node:net'

/** What the examples are told from outside, and what they say. The secret key is one of the preset `node`. */

const { KEYRAIL_URL, KEYRAIL_SECRET_KEY = '', KEYRAIL_PROJECT = '', PORT } = process.env

export const settings = {
  url: KEYRAIL_URL ?? 'http://127.0.0.1:8080',
  secretKey: KEYRAIL_SECRET_KEY,
  project: KEYRAIL_PROJECT,
}
export const port = Number(PORT ?? 3000)

export const sayWhere = (address: string | AddressInfo | null): void =>
  console.log(`The payments API listens on http://127.0.0.1:${(address as AddressInfo).port}`)

/** Ctrl-C, or what a container is stopped with. */
export function onStop(stop: () => void | Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
}
