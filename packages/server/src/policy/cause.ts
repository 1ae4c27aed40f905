import { isActiveKeySql } from '../lifecycle/active.ts'

/**
 * SQL for whether nodes get a key `k`: active, and not paused. Caps and ends of parents count a paused key as active, because a
 * pause can be undone. A key of a suspended tenant is sent all the same, to nodes that know suspensions.
 */
export const isSentSql = (): string => `${isActiveKeySql('k')} and k.disabled_at is null`

/** SQL for whether the tenant of a key `k` is suspended. Postgres reads the few suspended tenants once for a statement. */
export const isOfSuspendedSql = `k.tenant_id in (
    select s.id from tenants s where s.workspace_id = $1 and s.suspended_at is not null and s.deleted_at is null)`

/**
 * SQL for whether a key `k` may be used from some networks only: its own, or else those of its tenant. Postgres reads the few
 * tenants with networks once for a statement.
 */
export const hasNetworksSql = `(cardinality(k.allowed_cidrs) > 0 or k.allowed_cidrs is null and k.tenant_id in (
    select s.id from tenants s where s.workspace_id = $1 and s.allowed_cidrs <> '{}' and s.deleted_at is null))`

/**
 * SQL for why nodes do not get a key `k`, as tombstones and verdicts say it, in the order of verdicts; null for a key that they
 * get.
 * @param isSuspended SQL for whether its tenant is suspended. Null: the caller knows that, and gets the cause that would remain.
 * @param now the clock. Postgres calls the function for each row; a query in its place runs once.
 */
export const causeSql = (isSuspended: string | null, now = 'service_now()'): string =>
  `case when k.revoked_at is not null
    then case when k.revoked_reason in ('tenant_deleted', 'project_deleted') then 'deleted' else 'revoked' end
    when k.disabled_at is not null then 'disabled'
    ${isSuspended === null ? '' : `when ${isSuspended} then 'suspended'`}
    when k.expires_at <= ${now} then 'expired' end`
