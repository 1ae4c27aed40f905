import Type, { type Static } from 'typebox'
import {
  deleted,
  ExternalId,
  listOf,
  Meta,
  Name,
  nullable,
  paging,
  resource,
  strictObject,
  Timestamp,
  Uuid,
} from '../shared.ts'

export const TenantCreate = strictObject({
  external_id: ExternalId,
  name: Type.Optional(Name),
  meta: Type.Optional(Meta),
})
export type TenantCreate = Static<typeof TenantCreate>

export const TenantUpdate = strictObject({ name: Type.Optional(nullable(Name)), meta: Type.Optional(Meta) })
export type TenantUpdate = Static<typeof TenantUpdate>

export const Tenant = resource('tenant', {
  external_id: ExternalId,
  name: nullable(Name),
  meta: Meta,
  updated_at: Timestamp,
})
export type Tenant = Static<typeof Tenant>
export const TenantList = Type.Object({ external_id: Type.Optional(ExternalId), ...paging() })
export type TenantList = Static<typeof TenantList>
export const Tenants = listOf(Tenant)
export const DeletedTenant = deleted('tenant')

/** Every embed token minted before `revoked_at` fails on its next request. */
export const EmbedTokensRevoked = strictObject({
  object: Type.Literal('embed_tokens_revocation'),
  tenant_id: Uuid,
  revoked_at: Timestamp,
})
