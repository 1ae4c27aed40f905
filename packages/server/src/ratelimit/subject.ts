import type { Check } from './fold.ts'
import type { Rule } from './window.ts'

/** Whose counters a rule counts in. All counters of a subject stand in one row, or under one key, of a store. */
export interface Subject {
  workspaceId: string
  projectId: string
  env: Check['env']
  /** A check without a key, or without a tenant, has counters of its own: its id is that of nobody. */
  kind: 'key' | 'tenant' | 'no_key' | 'no_tenant'
  id: string
}

const nobody = '00000000-0000-0000-0000-000000000000'

export function subjectOf(check: Omit<Check, 'rules' | 'cost'>, scope: Rule['scope']): Subject {
  const { workspaceId, projectId, env } = check
  const id = scope === 'key' ? check.keyId : check.tenantId
  return { workspaceId, projectId, env, kind: id === null ? `no_${scope}` : scope, id: id ?? nobody }
}

/** Names a subject. All parts but the kind are of one length, so that names sort alike in every process. */
export const subjectName = ({ workspaceId, projectId, env, kind, id }: Subject): string =>
  `${workspaceId}/${projectId}/${env}/${kind}/${id}`
