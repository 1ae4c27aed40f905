import type { Check } from './fold.ts'
import type { Rule } from './window.ts'

/** Whose counters a rule uses. A store keeps all counters of a subject in one row, or under one key. */
export interface Subject {
  workspaceId: string
  projectId: string
  env: Check['env']
  /** Checks without a key, or without a tenant, share counters under an id of zeros. */
  kind: 'key' | 'tenant' | 'no_key' | 'no_tenant'
  id: string
}

const noId = '00000000-0000-0000-0000-000000000000'

export function subjectOf(check: Omit<Check, 'rules' | 'cost'>, scope: Rule['scope']): Subject {
  const { workspaceId, projectId, env } = check
  const id = scope === 'key' ? check.keyId : check.tenantId
  return { workspaceId, projectId, env, kind: id === null ? `no_${scope}` : scope, id: id ?? noId }
}

/** Names a subject. Names sort the same in every process, and rows are locked in that order. */
export const subjectName = ({ workspaceId, projectId, env, kind, id }: Subject): string =>
  `${workspaceId}/${projectId}/${env}/${kind}/${id}`
