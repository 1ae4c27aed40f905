import { KeyrailKeys } from './keyrail-keys.ts'

/** A page may load two versions of the widget; the first version stays. */
export function defineKeyrailKeys(): void {
  const registry = globalThis.customElements
  if (registry !== undefined && registry.get('keyrail-keys') === undefined)
    registry.define('keyrail-keys', KeyrailKeys)
}
