import type { Static } from 'typebox'
import { TenantNetworks } from '../networks.ts'
import { Type } from '../schema.ts'
import {
  DeleteProtection,
  deleted,
  ExternalId,
  idsOrSearch,
  listOf,
  Meta,
  Name,
  nullable,
  onlyIds,
  paging,
  type ReadQuery,
  resource,
  StoredName,
  searchText,
  strictObject,
  Timestamp,
  Uuid,
} from '../shared.ts'
import { Propagation } from './keys.ts'

export const TenantCreate = strictObject({
  external_id: ExternalId,
  name: Type.Optional(Name),
  meta: Type.Optional(Meta),
  allowed_cidrs: Type.Optional(TenantNetworks),
  delete_protection: Type.Optional(DeleteProtection),
})
export type TenantCreate = Static<typeof TenantCreate>

export const TenantUpdate = strictObject({
  name: Type.Optional(nullable(Name)),
  meta: Type.Optional(Meta),
  allowed_cidrs: Type.Optional(TenantNetworks),
  delete_protection: Type.Optional(DeleteProtection),
})
export type TenantUpdate = Static<typeof TenantUpdate>

const fields = {
  external_id: ExternalId,
  name: nullable(StoredName),
  meta: Meta,
  allowed_cidrs: TenantNetworks,
  suspended_at: nullable({
    ...Timestamp,
    description: 'Since when all of its keys are refused. Null: it is not suspended.',
  }),
  suspended_reason: nullable(Type.String()),
  delete_protection: DeleteProtection,
  updated_at: Timestamp,
}
export const Tenant = resource('tenant', fields)
export type Tenant = Static<typeof Tenant>
export const TenantList = Type.Object(
  {
    external_id: Type.Optional(ExternalId),
    q: searchText('the `name` or the `external_id`'),
    ids: onlyIds,
    ...paging(),
  },
  idsOrSearch,
)
export type TenantList = ReadQuery<typeof TenantList>
export const Tenants = listOf(Tenant)
export type Tenants = Static<typeof Tenants>
/** A tenant that was suspended or resumed. With `wait=true`, the answer says how far the change has come. */
export const SettledTenant = resource('tenant', { ...fields, propagation: Type.Optional(Propagation) })
export type SettledTenant = Static<typeof SettledTenant>
export const DeletedTenant = deleted('tenant')

/** Every embed token minted before `revoked_at` fails on its next request. */
export const EmbedTokensRevoked = strictObject({
  object: Type.Literal('embed_tokens_revocation'),
  tenant_id: Uuid,
  revoked_at: Timestamp,
})
export type EmbedTokensRevoked = Static<typeof EmbedTokensRevoked>
