/** A mailbox, and the name that stands before it. */
export interface Mailbox {
  readonly name: string
  readonly address: string
}

/** Control characters, and what Unicode breaks a line at. */
const breaking = /[\p{Cc}\u2028\u2029]/u

/**
 * Whether mail may go there: one mailbox, without quotes, comments, lists or white space, none of which a program
 * between here and there could then read in another way. Unpaired surrogates have no bytes to be sent as.
 */
export const isSendable = (address: string): boolean =>
  address.length <= 320 && address.isWellFormed() && mailbox.test(address)

const mailbox = /^[^\s\p{Cc}"(),:;<>@[\\\]]+@(?:[^\s\p{Cc}"(),:;<>@[\\\]]+|\[[0-9A-Fa-f.:IPv]+\])$/u

/**
 * Reads `Name <address>` or a bare address.
 * @returns null for anything else.
 */
export function readMailbox(text: string): Mailbox | null {
  const { name = '', address = text.trim() } =
    /^\s*(?<name>"(?:[^"\\]|\\.)*"|[^<>"]*?)\s*<(?<address>[^<>]*)>\s*$/.exec(text)?.groups ?? {}
  if (breaking.test(text) || !isSendable(address)) return null
  return { name: name.replace(/^"(.*)"$/, '$1').replace(/\\(.)/g, '$1'), address }
}

/** Who mail comes from when nothing else was set: of the host under which people know the service. */
export function defaultSender(publicUrl: string): Mailbox {
  const { hostname } = new URL(publicUrl)
  // An address of a machine stands in brackets. RFC 5321, section 4.1.3.
  const literal = hostname.startsWith('[') ? `[IPv6:${hostname.slice(1)}` : `[${hostname}]`
  const isNumber = hostname.startsWith('[') || /^\d+(?:\.\d+){3}$/.test(hostname)
  return { name: 'Keyrail', address: `no-reply@${isNumber ? literal : hostname}` }
}
