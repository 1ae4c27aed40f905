import type { Key } from '@keyrail/contract/vendor/keys'
import { faultOfMeta, readMeta, writeMeta } from '../../components/meta-text.ts'
import { faultOfOptionalName } from '../../components/name-rules.ts'
import {
  draftNetworks,
  faultOfNetworks,
  type NetworksDraft,
  readNetworks,
} from '../../components/networks-draft.ts'
import { ruleOfScopes } from '../../components/scope-rules.ts'
import { draftLimits, faultOfLimits, type LimitsDraft, readLimits } from './limits-value.ts'

/** The settings of a key while a person edits them, under the names that the service has for them. */
export interface KeyFormValues extends Record<string, unknown> {
  project_id: string | null
  tenant_id: string | null
  name: string
  scopes: string[]
  rate_limits: LimitsDraft
  allowed_cidrs: NetworksDraft
  expires_at: string | null
  meta: string
}

export const emptyForm: KeyFormValues = {
  project_id: null,
  tenant_id: null,
  name: '',
  scopes: [],
  rate_limits: draftLimits(null),
  allowed_cidrs: draftNetworks(null),
  expires_at: null,
  meta: '',
}

export const formOf = (key: Key): KeyFormValues => ({
  project_id: key.project_id,
  tenant_id: key.tenant_id,
  name: key.name ?? '',
  scopes: key.scopes,
  rate_limits: draftLimits(key.rate_limits),
  allowed_cidrs: draftNetworks(key.allowed_cidrs),
  expires_at: key.expires_at,
  meta: writeMeta(key.meta),
})

export const rules = {
  project_id: (id: string | null) => (id === null ? 'Choose a project.' : null),
  tenant_id: (id: string | null) => (id === null ? 'Choose a tenant.' : null),
  name: faultOfOptionalName,
  scopes: ruleOfScopes(),
  rate_limits: faultOfLimits,
  allowed_cidrs: faultOfNetworks,
  expires_at: (at: string | null) => (at === '' ? 'Choose a date.' : null),
  meta: faultOfMeta,
}

/** The settings as the service takes them. */
export const readForm = ({ name, scopes, rate_limits, allowed_cidrs, expires_at, meta }: KeyFormValues) => ({
  name: name.trim() === '' ? null : name.trim(),
  scopes,
  rate_limits: readLimits(rate_limits),
  allowed_cidrs: readNetworks(allowed_cidrs),
  expires_at,
  meta: readMeta(meta),
})
