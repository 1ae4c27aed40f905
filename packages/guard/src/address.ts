import { isIP } from 'node:net'

/** An IPv6 address in brackets, with or without a port. */
const inBrackets = /^\[([^\]]*)\](?::\d{1,5})?$/
/** An IPv4 address with a port; an IPv6 address needs brackets for it. */
const withPort = /^([\d.]+):\d{1,5}$/

/**
 * The address alone of what a program calls the address of its caller, which `POST /v1/keys/verify` takes with a port, brackets,
 * spaces or a zone around it: `packages/server/src/platform/network/client-address.ts`. The SDK reads the rest.
 * @returns undefined when the text is no address
 */
export function bareAddress(text: string): string | undefined {
  const given = text.trim()
  const bracketed = inBrackets.exec(given)?.[1]
  const written = bracketed ?? withPort.exec(given)?.[1] ?? given
  // Only an IPv6 address has a zone.
  const address = written.includes(':') ? written.split('%', 1)[0] : written
  const version = isIP(address ?? '')
  return version === 0 || (bracketed !== undefined && version === 4) ? undefined : address
}
