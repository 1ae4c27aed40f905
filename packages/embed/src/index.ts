export type {
  CreatedEmbedKey,
  EmbedKey,
  EmbedKeyCreate,
  EmbedKeys,
  EmbedKeyUpdate,
  EmbedSession,
  RotatedEmbedKey,
} from './types.ts'

import { defineKeyrailKeys } from './widget/define.ts'

export {
  createEmbedClient,
  type EmbedClient,
  type EmbedClientOptions,
  type EmbedKeyQuery,
} from './client/embed-client.ts'
export { EmbedError, type EmbedErrorCode } from './client/embed-error.ts'
export type { GetToken, TokenChange } from './client/tokens.ts'
export type { KeyUsage } from './types.ts'
export type { KeyrailEvents } from './widget/events.ts'
export { type Density, KeyrailKeys, type KeyrailProps } from './widget/keyrail-keys.ts'
export type { Messages } from './widget/words/words.ts'

defineKeyrailKeys()
