import { randomBytes } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** @param head the beginning of the key, such as `kr_live_` */
export function drawKey(head: string): string {
  const random = Array.from(randomBytes(32), byte => alphabet[byte % 62]).join('')
  return head + random + checksumOf(head + random)
}

/** CRC-32 (IEEE) in base62. */
function checksumOf(text: string): string {
  let crc = -1
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at)
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  let rest = (crc ^ -1) >>> 0
  let digits = ''
  for (; digits.length < 6; rest = Math.floor(rest / 62)) digits = alphabet[rest % 62] + digits
  return digits
}
