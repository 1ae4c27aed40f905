import { cidrsMax } from '@keyrail/contract/networks'
import { Networks } from '../../../sdk/src/store/networks.ts'

/** A range as people write it: a single address is a range too. */
function readRange(text: string): Networks | undefined {
  if (text.includes('/')) return Networks.read([text])
  return Networks.read([`${text}/${text.includes(':') ? 128 : 32}`])
}

/** What to fix in a list of ranges; null: nothing. */
export function faultOfRanges(ranges: readonly string[]): string | null {
  if (ranges.length > cidrsMax) return `Use ${cidrsMax} ranges at most.`
  const wrong = ranges.find(range => readRange(range) === undefined)
  if (wrong === undefined) return null
  const [address = '', prefix] = wrong.split('/')
  return prefix !== undefined && readRange(address) !== undefined
    ? `${wrong} is not a range: its prefix is too long, or bits are set after it.`
    : `${wrong} is not an address or a range, such as 203.0.113.0/24.`
}

/** Whether an address is in a list: the range that has it, `outside`, or `unread` if it is no address. */
export function placeOf(address: string, ranges: readonly string[]): { in: string } | 'outside' | 'unread' {
  if (readRange('::/0')?.place(address) === 'unknown') return 'unread'
  const range = ranges.find(one => readRange(one)?.place(address) === 'inside')
  return range === undefined ? 'outside' : { in: range }
}
