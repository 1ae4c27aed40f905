export type { CreatedEmbedKey, EmbedKey, EmbedKeyCreate, EmbedKeys, EmbedKeyUpdate, EmbedSession, RotatedEmbedKey, } from './types.js';
export { createEmbedClient, type EmbedClient, type EmbedClientOptions, type EmbedKeyQuery, } from './client/embed-client.js';
export { EmbedError, type EmbedErrorCode } from './client/embed-error.js';
export type { GetToken, TokenChange } from './client/tokens.js';
export type { KeyUsage } from './types.js';
export type { KeyrailEvents } from './widget/events.js';
export { type Density, KeyrailKeys, type KeyrailProps } from './widget/keyrail-keys.js';
export type { Messages } from './widget/words/words.js';
