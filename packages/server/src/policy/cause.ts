import { isActiveKeySql } from '../lifecycle/active.ts'

/**
 * SQL for whether nodes get a key `k`: active, and not paused. Caps and ends of parents count a paused key as active, because a
 * pause can be undone.
 */
export const isSentSql = (): string => `${isActiveKeySql('k')} and k.disabled_at is null`

/**
 * SQL for why nodes do not get a key `k`, as tombstones and verdicts say it; null for a key that they get.
 * @param now the clock. Postgres calls the function for each row; a query in its place runs once.
 */
export const causeSql = (now = 'service_now()'): string => `case when k.revoked_at is not null
    then case when k.revoked_reason in ('tenant_deleted', 'project_deleted') then 'deleted' else 'revoked' end
    when k.disabled_at is not null then 'disabled'
    when k.expires_at <= ${now} then 'expired' end`
