/**
 * SQL for why a key `k` is no longer active, as tombstones and verdicts say it; null for an active key.
 * @param now the clock. Postgres calls the function for each row; a query in its place runs once.
 */
export const causeSql = (now = 'service_now()'): string => `case when k.revoked_at is not null
    then case when k.revoked_reason in ('tenant_deleted', 'project_deleted') then 'deleted' else 'revoked' end
    when k.expires_at <= ${now} then 'expired' end`
