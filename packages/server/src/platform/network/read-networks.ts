import { invalidField } from '../refusal.ts'
import { networkText, readNetwork } from './cidr.ts'

/**
 * Reads the list `allowed_cidrs` of a body.
 * @returns each range once, in its canonical form, in the order of the body.
 * @throws {Refusal} `validation_failed`, naming the first invalid range.
 */
export function readNetworks(texts: readonly string[]): string[] {
  const found = texts.map((text, i) => {
    const network = readNetwork(text)
    if (typeof network === 'string') throw invalidField(`allowed_cidrs.${i}`, network)
    return networkText(network)
  })
  return [...new Set(found)]
}
