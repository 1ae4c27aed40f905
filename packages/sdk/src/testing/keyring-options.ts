import { refuseUnknown } from '../http/connection-options.ts'
import { readBoolean, readFunction } from '../http/option-values.ts'
import type { KeyringOptions } from '../keyring/options.ts'

/** Options of `createTestKeyring`: those of `createKeyring` that need no service. */
export interface TestKeyringOptions extends Pick<KeyringOptions, 'onUnavailable' | 'shadow' | 'onError'> {
  env?: 'live' | 'test' | 'both' | undefined
  externalId?: boolean | undefined
  keyMeta?: boolean | undefined
  labels?: boolean | undefined
  names?: boolean | undefined
  meta?: boolean | undefined
  /**
   * As that of `createKeyring`, but without `importWith`: a key that it accepts becomes one of the test keyring, which takes any tenant
   * as known.
   */
  onUnknownKey?: KeyringOptions['onUnknownKey']
}

const known: { readonly [Name in keyof Required<TestKeyringOptions>]: true } = {
  env: true,
  externalId: true,
  keyMeta: true,
  labels: true,
  names: true,
  meta: true,
  onUnavailable: true,
  onUnknownKey: true,
  onError: true,
  shadow: true,
}

interface TestSettings extends Pick<TestKeyringOptions, 'onUnavailable' | 'onUnknownKey' | 'onError'> {
  env: 'live' | 'test' | 'both'
  isShadow: boolean
}

/** @throws TypeError naming a wrong option */
export function readTestOptions(options: TestKeyringOptions): TestSettings {
  refuseUnknown('createTestKeyring', options, known)
  const { env = 'live', onUnavailable, onUnknownKey, onError, shadow = false } = options
  return {
    env,
    onUnavailable: readFunction('onUnavailable', onUnavailable),
    onUnknownKey: readFunction('onUnknownKey', onUnknownKey),
    onError: readFunction('onError', onError),
    isShadow: readBoolean('shadow', shadow),
  }
}

/** What verdicts have beside the key. */
export function readLabels({ externalId = true, keyMeta = true, labels, names, meta }: TestKeyringOptions) {
  return {
    hasExternalId: externalId || names === true,
    hasKeyMeta: keyMeta || meta === true,
    hasNames: labels === true || names === true,
    hasTenantMeta: labels === true || meta === true,
  }
}
