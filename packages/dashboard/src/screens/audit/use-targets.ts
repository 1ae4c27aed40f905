import type { AuditLog } from '@keyrail/contract/vendor/audit'
import { useNames } from '../../components/use-names.ts'
import { nameIn, shortId, targetWords } from './words.ts'

/** What each of these rows changed: the name that it holds, or the one of today, or the end of the id. */
export function useTargets(rows: readonly AuditLog[]): (row: AuditLog) => string {
  const idsOf = (type: AuditLog['target_type']) =>
    rows.filter(row => row.target_type === type && nameIn(row) === null).map(({ target_id }) => target_id)
  const tenantName = useNames('tenants', idsOf('tenant'))
  const projectName = useNames('projects', idsOf('project'))
  const keyNames = namesOfKeys(rows)
  return row => {
    const { target_type, target_id } = row
    const today =
      target_type === 'tenant'
        ? tenantName(target_id)
        : target_type === 'project'
          ? projectName(target_id)
          : (keyNames.get(target_id) ?? target_id)
    // A row of the audit log is about its own workspace, so an id says nothing more.
    if (target_type === 'workspace' && nameIn(row) === null) return targetWords.workspace
    return `${targetWords[target_type]} ${nameIn(row) ?? (today === target_id ? shortId(target_id) : today)}`
  }
}

/** Names of keys by their ids, as the rows hold them: a row of a revocation holds none. The newest row has the last word. */
function namesOfKeys(rows: readonly AuditLog[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const row of [...rows].sort((one, other) => one.seq - other.seq)) {
    const name = nameIn(row)
    if (name === null) continue
    names.set(row.target_id, name)
    const successor = row.payload?.successor
    if (typeof successor === 'object' && successor !== null && 'id' in successor)
      names.set(String(successor.id), name)
  }
  return names
}
