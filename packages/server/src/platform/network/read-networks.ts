import { Refusal } from '../refusal.ts'
import { networkText, readNetwork } from './cidr.ts'

/**
 * Reads the list `allowed_cidrs` of a body.
 * @returns each range once, in its canonical form, in the order of the body.
 * @throws {Refusal} `validation_failed`, naming every invalid range: a form marks all of them at once.
 */
export function readNetworks(texts: readonly string[]): string[] {
  const read = texts.map(readNetwork)
  const faults = read.flatMap((network, i) =>
    typeof network === 'string' ? [{ path: `allowed_cidrs.${i}`, message: network }] : [],
  )
  const [first] = faults
  if (first !== undefined)
    throw new Refusal('validation_failed', `${first.path}: ${first.message}`, { faults })
  return [...new Set(read.flatMap(network => (typeof network === 'string' ? [] : [networkText(network)])))]
}
