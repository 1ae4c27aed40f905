import type * as embed from '@keyrail/contract/embed'
import type * as shared from '@keyrail/contract/shared'
import type * as usage from '@keyrail/contract/vendor/usage'
import type { Static } from 'typebox'

/** What the service takes and answers. The build writes these types out, so that the package needs no contract. */

export type EmbedSession = Static<typeof embed.EmbedSession>
export type EmbedKey = Static<typeof embed.EmbedKey>
export type EmbedKeys = Static<typeof embed.EmbedKeys>
export type EmbedKeyCreate = Static<typeof embed.EmbedKeyCreate>
export type EmbedKeyUpdate = Static<typeof embed.EmbedKeyUpdate>
export type EmbedTenant = Static<typeof embed.EmbedTenant>
export type EmbedTenantUpdate = Static<typeof embed.EmbedTenantUpdate>
export type CreatedEmbedKey = Static<typeof embed.CreatedEmbedKey>
export type RotatedEmbedKey = Static<typeof embed.RotatedEmbedKey>
export type RotateBody = Static<typeof shared.RotateBody>
export type DisableBody = Static<typeof shared.DisableBody>
export type RevokeBody = Static<typeof shared.RevokeBody>
export type KeyUsage = Static<typeof usage.KeyUsage>
