import { KeyrailKeys } from './keyrail-keys.ts'

/** A page may load two versions; the first one stays. */
export function defineKeyrailKeys(): void {
  const registry = globalThis.customElements
  if (registry !== undefined && registry.get('keyrail-keys') === undefined)
    registry.define('keyrail-keys', KeyrailKeys)
}
