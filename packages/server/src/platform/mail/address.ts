/** A mailbox, and its display name. */
export interface Mailbox {
  readonly name: string
  readonly address: string
}

/** Control characters, and line breaks of Unicode. */
const breaking = /[\p{Cc}\u2028\u2029]/u

/**
 * Whether mail can be sent to the text: one mailbox, without quotes, comments, lists or white space, which programs on the way
 * could read differently. Unpaired surrogates cannot be encoded.
 */
export const isSendable = (address: string): boolean =>
  address.length <= 320 && address.isWellFormed() && mailbox.test(address)

const mailbox = /^[^\s\p{Cc}"(),:;<>@[\\\]]+@(?:[^\s\p{Cc}"(),:;<>@[\\\]]+|\[[0-9A-Fa-f.:IPv]+\])$/u

/**
 * Reads `Name <address>` or a bare address.
 * @returns null for any other text.
 */
export function readMailbox(text: string): Mailbox | null {
  const { name = '', address = text.trim() } =
    /^\s*(?<name>"(?:[^"\\]|\\.)*"|[^<>"]*?)\s*<(?<address>[^<>]*)>\s*$/.exec(text)?.groups ?? {}
  if (breaking.test(text) || !isSendable(address)) return null
  return { name: name.replace(/^"(.*)"$/, '$1').replace(/\\(.)/g, '$1'), address }
}

/** The default sender of mail, at the host of the service's public URL. */
export function defaultSender(publicUrl: string): Mailbox {
  const { hostname } = new URL(publicUrl)
  // An IP address is in brackets. RFC 5321, section 4.1.3.
  const literal = hostname.startsWith('[') ? `[IPv6:${hostname.slice(1)}` : `[${hostname}]`
  const isNumber = hostname.startsWith('[') || /^\d+(?:\.\d+){3}$/.test(hostname)
  return { name: 'Keyrail', address: `no-reply@${isNumber ? literal : hostname}` }
}
